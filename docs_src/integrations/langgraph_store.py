from typing import TypedDict
from uuid import uuid4

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from recollect import Recollect
from recollect.contrib.langgraph import RecollectStore


class State(TypedDict):
    user: str
    said: str
    known: list[str]


def recall(state: State, *, store: BaseStore) -> dict:
    found = store.search(("memories", state["user"]), query=state["said"], limit=1)
    return {"known": [item.value["text"] for item in found]}


def remember(state: State, *, store: BaseStore) -> dict:
    store.put(("memories", state["user"]), str(uuid4()), {"text": state["said"]})
    return {}


graph = StateGraph(State)
graph.add_node("recall", recall)
graph.add_node("remember", remember)
graph.add_edge(START, "recall")
graph.add_edge("recall", "remember")
graph.add_edge("remember", END)

with Recollect() as client:
    app = graph.compile(store=RecollectStore(client))
    for said in ("I keep bees behind the house.", "What do I keep behind the house?"):
        print(app.invoke({"user": "ana", "said": said, "known": []})["known"])
