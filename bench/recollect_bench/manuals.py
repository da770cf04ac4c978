"""The manuals that the library benchmark reads: two documentation packages of Debian, and questions about them.

`docs` is the folder that `apt-get download` and `dpkg -x` leave them in (`.../usr/share/doc`). Every document is called
by its path below it, as the questions name their gold. Headings and answers are compared with the sections of the
library as they are, so that a later release of a manual is told from a mistake of the ranking.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from recollect.errors import InvalidInputError

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect

#: Below /usr/share/doc. Of the Python manual only the parts that the questions were checked against.
FOLDERS = (
    "postgresql-doc-15/html",
    "python3.11/html/library",
    "python3.11/html/reference",
    "python3.11/html/howto",
    "python3.11/html/tutorial",
)
#: The manual that facts are planted in.
HAYSTACK = "postgresql-doc-15/html"
QUESTIONS = "questions_dev.jsonl"
_HOW = "apt-get download postgresql-doc-15 python3.11-doc, then `dpkg -x FILE.deb DIR` for each"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """A section that answers one part of a question; entries of the same part are alternatives."""

    part: int
    file: str
    section: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualQuestion:
    """A question; without gold the manuals do not answer it."""

    text: str
    kind: str
    gold: tuple[Gold, ...]


def find_docs(docs: Path) -> Path:
    """The folder that has both manuals: the one given, or `usr/share/doc` in it."""
    for folder in (docs, docs / "usr/share/doc"):
        if all((folder / one).is_dir() for one in FOLDERS):
            return folder
    missing = next(one for one in FOLDERS if not (docs / one).is_dir())
    raise InvalidInputError(f"there is no {missing!r} in {str(docs)!r}; get the manuals with {_HOW}")


def html_files(docs: Path, folder: str, *, every: int = 1) -> list[Path]:
    """The pages of a folder in order; every n-th one."""
    return sorted((docs / folder).rglob("*.html"))[::every]


def read_questions(folder: Path) -> list[ManualQuestion]:
    """The questions of the data folder."""
    file = folder / QUESTIONS
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidInputError(
            f"can't read the questions {str(file)!r}: {(error.strerror or str(error)).lower()}"
        ) from error
    try:
        return [_question(json.loads(line)) for line in lines if line.strip()]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"{file.name!r} has not the shape this benchmark reads: {error!r}") from error


def own_questions() -> list[ManualQuestion]:
    """The questions that ship with the benchmark."""
    return [_question(row) for row in _shipped("library_questions.json")["questions"]]


def foreign_questions() -> list[str]:
    """Questions about other products."""
    return [row["question"] for row in _shipped("foreign_questions.json")["questions"]]


def lacking_questions(half: Literal["tuning", "held"]) -> list[str]:
    """Questions for features that the products of the manuals do not have; those held back are for measuring only."""
    rows = _shipped("lacking_questions.json")["questions"]
    return [row["question"] for row in rows if row["half"] == half]


def missing_gold(client: Recollect, questions: Sequence[ManualQuestion]) -> list[str]:
    """Gold that is in none of the library's documents, as "file: heading"; a score with any is not to be trusted."""
    headings: dict[str, set[str]] = {}
    gone = []
    for gold in {one for question in questions for one in question.gold}:
        if gold.file not in headings:
            found = client.library.list(after=gold.file[:-1], limit=1)
            known = found and found[0].name == gold.file
            headings[gold.file] = (
                {one.heading for one in client.library.sections(gold.file)} if known else set()
            )
        if gold.section not in headings[gold.file]:
            gone.append(f"{gold.file}: {gold.section}")
    return sorted(gone)


def _question(row: Mapping[str, Any]) -> ManualQuestion:
    return ManualQuestion(
        text=row["question"],
        kind=row["kind"],
        gold=tuple(Gold(part=one["part"], file=one["file"], section=one["section"]) for one in row["gold"]),
    )


def _shipped(name: str) -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads(
        files("recollect_bench").joinpath(f"data/{name}").read_text(encoding="utf-8")
    )
    return loaded
