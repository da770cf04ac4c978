"""Facts planted in a manual: what the library cites when asked for them in other words, and after they change.

A fact becomes a paragraph of its own at a random place of a random page. An answer is right when it cites the line the
fact came to stand on. Then pages are corrupted, one way after the other, and what was cited is verified again: every
citation of a changed place must read stale or moved.
"""

from __future__ import annotations

import html
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError
from recollect.library.reading import read_document
from recollect.providers.tokens import count_tokens
from recollect_bench.manuals import html_files
from recollect_bench.needles import Needle, plant, read_needles
from recollect_bench.trial import ensure_tenant

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect.domain.oracle import OracleConsultResult
    from recollect_bench.show import Show

ID = "haystack"
#: Behind a paragraph, but not that of a table of contents, which is no text of the page.
_BETWEEN = re.compile(r"(?<=</p>)(?<!Contents</strong></p>)(?<!Contents</b></p>)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page with what was planted in it."""

    name: str
    source: str
    needles: tuple[Needle, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A needle, the document it is in and the line it stands on."""

    needle: Needle
    document: str
    line: int

    def cited_by(self, result: OracleConsultResult, *, first: int | None = None) -> bool:
        """Whether one of the first citations covers the line."""
        return any(
            one.file_path == self.document and one.line_start <= self.line <= one.line_end
            for one in result.citations[:first]
        )


def make_haystack(
    docs: Path, folder: str, *, tokens: int, needles: Sequence[Needle], seed: int = 7
) -> list[Page]:
    """Pages of a manual, so many tokens together, with every fact in one of them."""
    files = html_files(docs, folder)
    random.Random(seed).shuffle(files)  # noqa: S311 - reproducible pages, not secrets
    pieces: list[str] = []
    of_page: list[int] = []
    names: list[str] = []
    tails: list[str] = []
    held = 0
    for file in files:
        source = file.read_text(encoding="utf-8", errors="replace")
        cut = [piece for piece in _BETWEEN.split(source) if piece]
        if len(cut) < 3:
            continue  # hardly a paragraph to hide behind
        pieces += cut[:-1]
        of_page += [len(names)] * (len(cut) - 1)
        names.append(str(file.relative_to(docs / folder)))
        tails.append(cut[-1])
        held += count_tokens(read_document(source.encode(), name=file.name).text)
        if held >= tokens:
            break
    else:
        raise InvalidInputError(f"{folder!r} has {held:,} tokens, and {tokens:,} are wanted")
    known = {one.number: one for one in needles}
    paragraphs = [replace(one, fact=f"\n<p>{html.escape(one.fact)}</p>\n") for one in needles]
    text, places = plant(pieces, paragraphs, seed=seed)
    planted = {one.line - 1: known[one.needle.number] for one in places}
    sources: list[list[str]] = [[] for _ in names]
    inside: list[list[Needle]] = [[] for _ in names]
    left = iter(of_page)
    page = 0
    for position, piece in enumerate(text):
        if position in planted:  # stays on the page of what stands before it
            inside[page].append(planted[position])
        else:
            page = next(left)
        sources[page].append(piece)
    return [
        Page(name=name, source="".join([*source, tail]), needles=tuple(needles_here))
        for name, source, tail, needles_here in zip(names, sources, tails, inside, strict=True)
    ]


def fill_haystack(client: Recollect, tenant: str, pages: Sequence[Page], show: Show) -> Recollect:
    """A tenant whose library has these pages and nothing else."""
    inside, _ = ensure_tenant(client, tenant)
    held = [one for one in inside.library.list(limit=100_000) if one.state == "ready"]
    if len(held) == len(pages):
        show.say(f"{len(pages):,} pages with planted facts are there already")
        return inside
    with tempfile.TemporaryDirectory() as folder, show.stage("adding planted pages", len(pages)) as progress:
        for page in pages:
            target = Path(folder) / page.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(page.source, encoding="utf-8")
        report = inside.library.add_folder(folder, id=ID, progress=progress)
    if report.errors:
        raise InvalidInputError(f"{len(report.errors)} pages were refused; {report.errors[0].message}")
    return inside


def find_hidden(inside: Recollect, pages: Sequence[Page]) -> list[Hidden]:
    """Where every fact stands in the library."""
    hidden = []
    for page in pages:
        if not page.needles:
            continue
        lines = inside.library.text(f"{ID}/{page.name}").split("\n")
        for needle in page.needles:
            on = [number for number, line in enumerate(lines, 1) if needle.fact in " ".join(line.split())]
            if not on:
                raise InvalidInputError(
                    f"the fact {needle.number} is not in the text of {page.name!r}; plant it with another seed"
                )
            hidden.append(Hidden(needle=needle, document=f"{ID}/{page.name}", line=on[0]))
    return sorted(hidden, key=lambda one: one.needle.number)


def pairs_of(hidden: Sequence[Hidden]) -> Iterator[tuple[str, Hidden, Hidden]]:
    """Questions for two facts at once, each fact in one of them."""
    for one, other in zip(hidden[::2], hidden[1::2], strict=False):
        yield f"{one.needle.question} {other.needle.question}", one, other


def corrupt(inside: Recollect, pages: Sequence[Page], show: Show, *, cases: int) -> dict[str, Any]:
    """Change pages under what was cited of them, one at a time, and count what `verify` says of it."""
    by_kind: dict[str, Counter[str]] = {}
    noticed = done = 0
    work = [(page, needle) for page in pages for needle in page.needles][:cases]
    with show.stage("corrupting pages", len(work)) as progress:
        for number, (page, needle) in enumerate(work):
            name = f"{ID}/{page.name}"
            result = inside.oracle_consult(needle.fact, depth_hint="quick", doc_ids=[name])
            fact = html.escape(needle.fact)
            cited = [
                at for at, one in enumerate(result.citations) if needle.fact in " ".join(one.quote.split())
            ]
            if not cited:
                raise InvalidInputError(
                    f"the fact {needle.number} is not cited when it is asked for in its own words"
                )
            kind, source = _corrupted(page.source, fact, number)
            inside.library.add(source.encode(), name=page.name, id=name, wait=True)
            status = inside.verify(result.document()).citations[cited[0]].status.value
            inside.library.add(page.source.encode(), name=page.name, id=name, wait=True)
            by_kind.setdefault(kind, Counter())[status] += 1
            noticed += status in ("stale", "moved")
            done += 1
            progress(number + 1, None)
    return {
        "cases": done,
        "noticed": noticed,
        "kinds": {kind: dict(counted) for kind, counted in by_kind.items()},
    }


def _corrupted(source: str, fact: str, number: int) -> tuple[str, str]:
    """The page with its fact changed, moved or gone."""
    paragraph = f"<p>{fact}</p>"
    half = fact.rfind(" ", 0, len(fact) // 2)
    changed = {
        "a letter": paragraph.replace(fact, fact.replace("e", "o", 1)),
        "a word": paragraph.replace(fact, f"{fact[:half]} never{fact[half:]}"),
        "gone": "",
        "moved": f"<p>A line that was not here before.</p>\n<p>And another one.</p>\n{paragraph}",
    }
    kind = list(changed)[number % len(changed)]
    return kind, source.replace(paragraph, changed[kind], 1)


def all_needles() -> list[Needle]:
    """The facts that ship with the benchmark."""
    return read_needles()
