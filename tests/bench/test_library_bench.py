"""The library benchmark on manuals small enough to know by heart."""

from __future__ import annotations

import html
import json
import time
from pathlib import Path

import pytest

from recollect.errors import InvalidInputError
from recollect_bench import manuals
from recollect_bench.library import CORRUPTIONS, PARTS, LibraryPlan, run_library
from recollect_bench.library_needles import make_haystack
from recollect_bench.needles import read_needles
from recollect_bench.peak import watch_memory
from recollect_bench.plots import write_plot
from recollect_bench.show import Show
from recollect_bench.tables import tables_of

QUIET = Show(quiet=True)
TOPICS = {
    "lighthouse": "The lighthouse keeper painted every window green last spring.",
    "tomatoes": "Tomatoes are protected from snails with rings of copper.",
    "violins": "A violin is tuned in fifths, beginning with the A string.",
    "bakery": "The bakery heats its stone for an hour before the first bread.",
    "chess": "In chess a pawn that reaches the last row becomes a queen.",
}


def page(topic: str, sentence: str) -> str:
    more = "".join(f"<p>More about {topic}, paragraph {n}, for whoever reads on.</p>\n" for n in range(8))
    return f"<html><head><title>{topic}</title></head><body><h1>{topic}</h1><p>{sentence}</p>\n{more}</body></html>"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for folder in manuals.FOLDERS:
        (root / folder).mkdir(parents=True)
        for topic, sentence in TOPICS.items():
            (root / folder / f"{topic}.html").write_text(page(topic, sentence), encoding="utf-8")
    return root


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        {
            "kind": "factual",
            "question": "What did the lighthouse keeper paint last spring?",
            "gold": [
                {"part": 1, "file": f"{one}/lighthouse.html", "section": "lighthouse"}
                for one in manuals.FOLDERS
            ],
        },
        {"kind": "unanswerable", "question": "How does Xylonite shard a Quorvex?", "gold": []},
    ]
    (tmp_path / manuals.QUESTIONS).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def test_everything_is_measured_through_the_public_door(docs: Path, data: Path, bench_home: Path) -> None:
    plan = LibraryPlan(docs=docs, data=data, limit_questions=2, needle_tokens=200)
    result = run_library(plan, embedder="wordllama", home=bench_home, show=QUIET)
    measured = result.measures
    assert measured["index"]["documents"] == len(manuals.FOLDERS) * len(TOPICS)
    assert measured["index"]["passages"] > 0
    assert measured["questions"]["sections"]["all"] == {
        "questions": 1,
        "section@1": 1.0,
        "section@5": 1.0,
        "all_parts@5": 1.0,
    }
    assert measured["questions"]["gold_missing"] == []
    assert measured["own_questions"]["gold_missing"]
    assert all(measured[name]["refused"] == 1.0 for name in ("foreign", "lacking", "lacking_held"))
    assert measured["needles"]["asked"] == 2
    assert measured["corruptions"]["noticed"] == measured["corruptions"]["cases"] == 2
    checked = measured["questions"]["citations"]
    assert checked["made"] == checked["verified"] > 0
    assert {bar.bar for bar in result.bars} == {0.60, 1.5, 3.0, 0.78, 0.90, 1.0}
    assert {table.title for table in tables_of(result)} >= {"Adding", "Consultations", "Planted facts"}
    assert write_plot(result, data).exists()
    # The second time the manuals are there, and indexing is measured on some of their pages.
    again = run_library(
        LibraryPlan(docs=docs, data=data, parts=("index",)), embedder="wordllama", home=bench_home, show=QUIET
    )
    assert 0 < again.measures["index"]["documents"] < measured["index"]["documents"]


def test_every_fact_is_planted_once_as_a_paragraph_of_its_page(docs: Path) -> None:
    needles = read_needles()[:20]
    pages = make_haystack(docs, manuals.HAYSTACK, tokens=200, needles=needles)
    assert sorted(one.number for page in pages for one in page.needles) == [one.number for one in needles]
    for one in pages:
        assert one.source.endswith("</html>")
        for needle in one.needles:
            assert one.source.count(f"<p>{html.escape(needle.fact)}</p>") == 1
    assert make_haystack(docs, manuals.HAYSTACK, tokens=200, needles=needles) == pages
    with pytest.raises(InvalidInputError, match="are wanted"):
        make_haystack(docs, manuals.HAYSTACK, tokens=10**9, needles=needles)


def test_what_is_missing_is_named_with_how_to_get_it(docs: Path, data: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="apt-get download"):
        manuals.find_docs(tmp_path / "elsewhere")
    assert manuals.find_docs(docs) == docs
    with pytest.raises(InvalidInputError, match="can't read the questions"):
        manuals.read_questions(tmp_path / "elsewhere")
    (data / manuals.QUESTIONS).write_text('{"question": 1}\n', encoding="utf-8")
    with pytest.raises(InvalidInputError, match="has not the shape"):
        manuals.read_questions(data)
    with pytest.raises(InvalidInputError, match=f"the parts are {', '.join(PARTS)}"):
        LibraryPlan(docs=docs, data=data, parts=("speed",)).check()
    assert CORRUPTIONS == 100


def test_memory_is_seen_at_its_peak() -> None:
    with watch_memory(None) as peak:
        held = bytearray(200 * 2**20)
        held[::4096] = b"x" * len(held[::4096])
        # A look is taken a few times a second; the block must outlive one, however busy the machine is.
        deadline = time.monotonic() + 60
        while peak.process_mb <= 200 and time.monotonic() < deadline:
            time.sleep(0.05)
    assert peak.process_mb > 200
    assert peak.together_mb >= peak.process_mb
