from typing import TypedDict
from uuid import uuid4

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from recollect import Recollect
from recollect.contrib.langgraph import RecollectStore


class State(TypedDict):
    user: str
    message: str
    known: list[str]


def recall(state: State, *, store: BaseStore) -> dict:
    items = store.search(("memories", state["user"]), query=state["message"], limit=1)
    return {"known": [item.value["text"] for item in items]}


def remember(state: State, *, store: BaseStore) -> dict:
    store.put(("memories", state["user"]), str(uuid4()), {"text": state["message"]})
    return {}


graph = StateGraph(State)
graph.add_node("recall", recall)
graph.add_node("remember", remember)
graph.add_edge(START, "recall")
graph.add_edge("recall", "remember")
graph.add_edge("remember", END)

with Recollect() as client:
    app = graph.compile(store=RecollectStore(client))
    for message in ("I keep bees behind the house.", "What do I keep behind the house?"):
        print(app.invoke({"user": "ana", "message": message, "known": []})["known"])
