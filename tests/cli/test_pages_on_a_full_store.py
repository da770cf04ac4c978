"""Every example of the documentation prints what its page shows, also on a store that has memories."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recollect import Recollect

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "docs_src"
#: The steps of the tutorial build on each other, and are run in their order by test_tutorial.py. Some examples need
#: packages that are not here; test_integrations_page.py runs them where they are.
ELSEWHERE = {"openai_agents_session", "llama_index_retriever", "autogen_memory", "crewai_memory"}
EXAMPLES = sorted(
    file
    for file in SOURCES.rglob("*.py")
    if file.with_suffix(".out").exists() and file.parent.name != "tutorial" and file.stem not in ELSEWHERE
)


@pytest.fixture(scope="module")
def full(newcomer: dict[str, str]) -> dict[str, str]:
    """The environment of somebody who has used the store for a while."""
    with Recollect(home=newcomer["RECOLLECT_HOME"]) as client:
        client.add("Ana works at Initech.", type="semantic")
        client.add("Bob lives in Faro.", type="semantic")
        client.add("The production server is called heron.")
        talk = [
            {"speaker": "Ana", "content": f"On day {day} we counted {day * 3} parcels."}
            for day in range(1, 9)
        ]
        client.add(talk, conversation="counts")
        client.add_many([{"text": f"Ticket {n}: the box was wet.", "metadata": {"n": n}} for n in range(30)])
        client.consolidate()
        client.library.add(b"# Handbook\n\n## Leave\n\nThere are 28 days of leave.\n", name="handbook.md")
        question = client.search("What is the production server called?")
        client.learning.log_retrieval_event(question.query_id, [hit.id for hit in question])
    return newcomer


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda file: str(file.relative_to(SOURCES)))
def test_an_example_prints_what_its_page_shows(script: Path, full: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=full, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == script.with_suffix(".out").read_text(encoding="utf-8")
