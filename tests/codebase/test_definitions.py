"""Which definitions answer a question: meaning, words and calls together, and what is kept of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.codebase.shop import lay_out

from recollect import RLMOrchestrator, Settings
from recollect.codebase import exploration
from recollect.codebase.definitions import chance_of, rank_definitions, text_of_definition, unseen
from recollect.codebase.evidence import Pages
from recollect.codebase.index import CodeIndex
from recollect.codebase.query import read_query
from recollect.codebase.ranking import weigh
from recollect.codebase.refine import LEAST_CHANCE
from recollect.codebase.tree import open_tree
from recollect.providers.embedders import Embedder, open_embedder

LIBRARY = {
    "library/loans.py": '''"""Lending books."""

# A reader may keep a book for four weeks.
LOAN_DAYS = 28


class Desk:
    """Where books are lent."""

    def prolong(self, loan):
        """Give a reader more days before the loan is due."""
        loan.due += LOAN_DAYS
        return loan


class AsyncDesk:
    """Where books are lent, asynchronously."""

    async def prolong(self, loan):
        """Give a reader more days before the loan is due."""
        loan.due += LOAN_DAYS
        return loan
''',
    "library/fines.py": '''"""Fines."""

from library.notices import write_letter


def collect_fine(loan, today):
    """Charge for each day that a book came back too late."""
    days = max(0, today - loan.due)
    if days:
        write_letter(loan.reader, days)
    return days * 10
''',
    "library/notices.py": '''"""Post."""


def write_letter(person, number):
    """Put words on paper and send them off."""
    return f"{person}: {number}"


def print_label(book):
    """A label for the spine of a book."""
    return book.title[:10]
''',
    "library/shelves.py": '''"""Shelves."""


def place_of(book):
    """The shelf and the row where a book stands."""
    return book.topic, book.author
''',
}


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return open_embedder(exploration.EMBEDDER, cache_dir=tmp_path_factory.mktemp("models"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "library", LIBRARY)


@pytest.fixture
def index(root: Path, tmp_path: Path) -> Iterator[CodeIndex]:
    with CodeIndex.open(open_tree(root), tmp_path / "store", workers=1) as opened:
        yield opened


def names(index: CodeIndex, root: Path, question: str, embedder: Embedder | None, **more: float) -> list[str]:
    found = rank_definitions(index, read_query(question), Pages(open_tree(root)), embedder, **more)
    return [one.definition.symbol.qualified_name for one in found.ranked]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How is a message sent to a person?", "write_letter"),
        ("How much does somebody pay who returns a book late?", "collect_fine"),
        ("How do I find out where a book stands?", "place_of"),
    ],
)
def test_what_does_the_thing_comes_first(
    index: CodeIndex, root: Path, embedder: Embedder, question: str, first: str
) -> None:
    assert names(index, root, question, embedder)[0] == first


def test_of_a_method_and_its_asynchronous_copy_one_is_named(
    index: CodeIndex, root: Path, embedder: Embedder
) -> None:
    found = names(index, root, "How does a reader get more days for a loan?", embedder)
    assert len({"Desk.prolong", "AsyncDesk.prolong"} & set(found)) == 1


def test_what_is_called_comes_before_what_is_not(index: CodeIndex, root: Path, embedder: Embedder) -> None:
    found = names(index, root, "What happens when a book came back too late?", embedder)
    assert found.index("write_letter") < found.index("print_label")


def test_without_an_embedder_words_and_calls_decide(index: CodeIndex, root: Path) -> None:
    found = names(index, root, "Who is charged for a book that came back late?", None)
    assert found[0] == "collect_fine"
    assert names(index, root, "zygomorphic quaternions", None) == []


def test_a_definition_is_embedded_once_and_again_only_when_it_changes(
    root: Path, tmp_path: Path, embedder: Embedder
) -> None:
    def texts(index: CodeIndex) -> list[str]:
        pages = Pages(open_tree(root))
        found = index.definitions("prolong") + index.definitions("place_of")
        return [text_of_definition(one, pages.lines(one.path) or ()) for one in found]

    with CodeIndex.open(open_tree(root), tmp_path / "store", workers=1) as index:
        assert index.vectors(embedder, texts(index), seconds=0) == {}
        assert len(index.vectors(embedder, texts(index))) == 3
    shelves = root / "library/shelves.py"
    shelves.write_text(shelves.read_text().replace("book.author", "book.year"))
    with CodeIndex.open(open_tree(root), tmp_path / "store", workers=1) as index:
        kept = index.vectors(embedder, texts(index), seconds=0)
        assert sorted(kept) == [0, 1]
        assert kept[0] @ kept[0] == pytest.approx(1.0, abs=0.01)


def test_what_is_said_above_a_definition_belongs_to_it(index: CodeIndex, root: Path) -> None:
    (found,) = index.definitions("LOAN_DAYS")
    lines = Pages(open_tree(root)).lines(found.path) or ()
    text = text_of_definition(found, lines)
    assert text.startswith("loan days in library loans. A reader may keep a book for four weeks.")


GO = {
    "go.mod": "module harbour\n",
    "harbour/quay.go": """package harbour

// Berth gives a ship that arrives the first free place along the wall,
// or makes it wait outside when every place is taken.
func Berth(s *Ship) int {
	return pick(s)
}

// pick goes by the length of the hull.
func pick(s *Ship) int {
	return s.Length / 10
}
""",
    "harbour/ship.go": """package harbour

// Ship is a vessel with its papers.
type Ship struct {
	Name   string
	Length int
}

// Arrive writes the hour into the book.
func (s *Ship) Arrive(hour int) {
	log(s.Name, hour)
}
""",
}


def test_a_comment_above_a_function_of_another_language_says_what_it_does(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "harbour", GO)
    explorer = RLMOrchestrator(root, settings=Settings(home=tmp_path / "home"))
    result = asyncio.run(
        explorer.explore("task", "What happens to a ship when every place along the wall is taken?")
    )
    assert "`Berth`" in result.findings[0].description
    with CodeIndex.open(open_tree(root), tmp_path / "store", workers=1) as index:
        ids = index.definition_postings("wall").ids.tolist()
        assert [index.definition(number).symbol.name for number in ids] == ["Berth"]


def test_what_does_a_thing_comes_before_a_field_that_has_its_name(tmp_path: Path) -> None:
    code = '''class Settings:
    """What can be set."""

    retry_after_failure: int = 3
    """How many times to retry a request after a failure."""

    def __repr__(self):
        """Retry after failure, for people who retry a request."""
        return f"retry {self.retry_after_failure}"


def attempt(send, settings):
    """Send a request, and retry after a failure."""
    for _ in range(settings.retry_after_failure):
        if send():
            return True
    return False
'''
    root = lay_out(tmp_path / "net", {"net/send.py": code})
    explorer = RLMOrchestrator(root, settings=Settings(home=tmp_path / "home"))
    result = asyncio.run(explorer.explore("task", "How does it retry a request after a failure?"))
    order = [one.description.split("`")[1] for one in result.findings]
    later = [name for name in order if name in ("Settings.retry_after_failure", "Settings.__repr__")]
    assert later
    assert order.index("attempt") < order.index(later[0])


def test_when_time_is_short_the_likeliest_definitions_are_embedded(
    index: CodeIndex, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.codebase.index._EMBEDDED_AT_ONCE", 2)
    hours = iter([0.0, 0.0, 2.0])
    monkeypatch.setattr("recollect.codebase.index.time", SimpleNamespace(monotonic=lambda: next(hours)))
    assert sorted(index.vectors(embedder, ["the best", "the second", "the third"], seconds=1.0)) == [0, 1]


def test_a_missing_embedder_is_said_and_the_question_answered(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "project_brain", None)  # find_spec then finds nothing
    monkeypatch.setattr(exploration, "_EMBEDDERS", {})
    explorer = RLMOrchestrator(root, settings=Settings(home=tmp_path / "home"))
    result = asyncio.run(explorer.explore("task", "Who is charged for a book that came back late?"))
    assert result.success
    assert "collect_fine" in result.findings[0].evidence
    assert any("not by meaning" in note and "pip install" in note for note in result.notes)


def test_far_definitions_and_unknown_words_together_are_refused() -> None:
    assert chance_of(0.58, 0.4) < LEAST_CHANCE
    assert chance_of(0.68, 0.2) > LEAST_CHANCE
    assert chance_of(0.60, 0.0) > LEAST_CHANCE


def test_words_that_the_program_never_says_are_counted(index: CodeIndex) -> None:
    def share(question: str) -> float:
        query = read_query(question)
        return unseen(index, query, weigh(index, query))

    assert share("Where are books lent to a reader?") == 0.0
    assert share("Where are invoices encrypted?") == 1.0


def test_a_small_tree_is_not_told_that_it_does_not_do_something(
    index: CodeIndex, root: Path, embedder: Embedder
) -> None:
    query = read_query("Where are books encrypted?")
    assert rank_definitions(index, query, Pages(open_tree(root)), embedder).chance > LEAST_CHANCE
