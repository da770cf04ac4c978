"""Naming a part of the material, so that nobody has to copy it into a call.

`*` is everything, `doc_id` a document, `doc_id#Section > Path` a section with those below it, `doc_id:10-80` a range of
lines. Anything else is taken as the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.domain.library import PATH_SEPARATOR, Section
from recollect.library.material import Entry, Volume

EVERYTHING = "*"
_LINES = re.compile(r"^(?P<doc>.+):(?P<first>\d+)-(?P<last>\d+)$", re.DOTALL)
_NUMBERED = re.compile(
    r"^(?:(?:chapter|section|appendix|part)\s+)?(?:[0-9]+|[a-z])(?:\.[0-9]+)*[.:)]?\s+(?=\S)"
)
#: Longer is a text, not a name.
_MAX_REFERENCE_CHARS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A part of a document: a section by its path, a range of lines, or all of it."""

    doc_id: str
    path: str | None = None
    lines: tuple[int, int] | None = None


def parse_reference(content: str, entries: Mapping[str, Entry]) -> Reference | None:
    """What a content names; None when it is a text."""
    name = content.strip()
    if not name or len(name) > _MAX_REFERENCE_CHARS or "\n" in name:
        return None
    if name in entries:
        return Reference(doc_id=name)
    match = _LINES.match(name)
    if match and match["doc"] in entries:
        return Reference(doc_id=match["doc"], lines=(int(match["first"]), int(match["last"])))
    # A path of a file may hold the sign itself.
    at = name.find("#")
    while at > 0:
        if name[:at] in entries:
            return Reference(doc_id=name[:at], path=name[at + 1 :])
        at = name.find("#", at + 1)
    return None


def find_sections(volume: Volume, path: str) -> list[Section]:
    """The sections a path names, with those below them, in order; empty when there is none.

    The whole path is best; the last headings of one will do, also without their numbers, if only one section ends with
    them.
    """
    wanted = _plain(path)
    if not wanted:
        return []
    exact = [section for section in volume.sections if _plain(section.path) == wanted]
    for form in (_plain, _unnumbered):
        if not exact:
            ending = form(path)
            exact = [
                section
                for section in volume.sections
                if ending and f" > {form(section.path)}".endswith(f" > {ending}")
            ]
            if len({one.path for one in exact}) != 1:
                exact = []
    if not exact:
        return []
    tops = {one.path for one in exact}
    below = tuple(f"{top}{PATH_SEPARATOR}" for top in tops)
    return [section for section in volume.sections if section.path in tops or section.path.startswith(below)]


def suggest_sections(volume: Volume, path: str, *, limit: int = 5) -> list[str]:
    """Paths that look like a path that is not there."""
    from rapidfuzz import fuzz, process

    paths = list(dict.fromkeys(section.path for section in volume.sections if section.path))
    ranked = process.extract(
        path, paths, scorer=fuzz.WRatio, processor=str.casefold, limit=limit, score_cutoff=45
    )
    return [name for name, _, _ in ranked] or paths[:limit]


def spans_of(sections: Sequence[Section]) -> list[tuple[int, int]]:
    """The line ranges of sections, those that follow on each other joined."""
    spans: list[tuple[int, int]] = []
    for section in sorted(sections, key=lambda one: one.line_start):
        if spans and section.line_start <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(spans[-1][1], section.line_end))
        else:
            spans.append((section.line_start, section.line_end))
    return spans


def _plain(path: str) -> str:
    return PATH_SEPARATOR.join(" ".join(part.split()).casefold() for part in path.split(">")).strip()


def _unnumbered(path: str) -> str:
    """A path without the numbers before its headings: "4.2 Limits" is often asked for as "Limits"."""
    return PATH_SEPARATOR.join(_NUMBERED.sub("", part) for part in _plain(path).split(PATH_SEPARATOR))
