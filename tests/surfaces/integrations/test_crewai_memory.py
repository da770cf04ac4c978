"""The memory of a crew, through the real CrewAI: no model is asked for it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.loopback import Asked, answering, completion

from recollect import Recollect

pytest.importorskip("crewai", reason="crewai is not installed")
# Of its own fields and of what it uses.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """It looks for a place of its own, and would tell somebody what it does."""
    for name in ("CREWAI_DISABLE_TELEMETRY", "OTEL_SDK_DISABLED", "CREWAI_TESTING"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))


def test_what_is_remembered_below_a_path_is_recalled_there_and_not_beside_it(client: Recollect) -> None:
    from recollect.contrib.crewai import RecollectMemory

    client.add("Bees need water in summer.")
    memory = RecollectMemory(client=client)
    bees = memory.remember("Ana keeps bees.", scope="/garden/animals", categories=["pets"], importance=0.9)
    memory.remember_many(["Ben keeps hens.", "The shed is green."], scope="/yard")
    assert (bees.scope, bees.categories, bees.importance) == ("/garden/animals", ["pets"], 0.9)
    [found] = memory.recall("Who keeps bees?", scope="/garden")
    assert (found.record.id, found.record.content) == (bees.id, "Ana keeps bees.")
    assert memory.recall("Who keeps bees?", scope="/yard") == []
    assert memory.recall("What is the capital of Peru?") == []
    assert memory.list_scopes("/") == ["/garden", "/yard"]
    assert memory.info("/garden").child_scopes == ["/garden/animals"]
    assert memory.list_categories() == {"pets": 1}
    changed = memory.update(bees.id, content="Ana keeps bumblebees.")
    assert memory.recall("Who keeps bumblebees?")[0].record.content == changed.content
    assert memory.forget(scope="/yard") == 2
    memory.reset()
    assert [one.text for one in client.list()] == ["Bees need water in summer."]


def test_what_is_private_is_its_source_s_and_a_read_only_memory_keeps_nothing(client: Recollect) -> None:
    from recollect.contrib.crewai import RecollectMemory

    memory = RecollectMemory(client=client)
    memory.remember("Ana's door code is 4711.", source="ana", private=True)
    assert memory.recall("What is Ana's door code?", source="ben") == []
    assert len(memory.recall("What is Ana's door code?", source="ana")) == 1
    assert RecollectMemory(client=client, read_only=True).remember("Nothing.") is None
    assert client.count() == 1


def test_a_crew_is_told_what_is_known_and_remembers_what_came_of_its_task(client: Recollect) -> None:
    from crewai import LLM, Agent, Crew, Task

    from recollect.contrib.crewai import RecollectMemory

    client.add("The beekeeper of the garden is Ana.")
    told: list[str] = []

    def answer(asked: Asked) -> dict[str, Any]:
        told.append(str(asked.body["messages"]))
        return completion({"content": "Ana feeds the bees."})

    with answering(answer) as url:
        model = LLM(model="openai/double", base_url=url, api_key="none")
        agent = Agent(role="Gardener", goal="Care for the garden", backstory="Green fingers.", llm=model)
        task = Task(description="Who is the beekeeper of the garden?", expected_output="A name", agent=agent)
        crew = Crew(agents=[agent], tasks=[task], memory=RecollectMemory(client=client))
        assert "Ana feeds the bees." in str(crew.kickoff())
    assert "The beekeeper of the garden is Ana." in told[0]
    assert "Ana feeds the bees." in [memory.text for memory in client.list()]
