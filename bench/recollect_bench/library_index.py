"""How fast a library is indexed beside its embedder alone, and how much memory that takes.

Folder by folder: the embedder alone has passages of the folder's own pages before and after the folder is added, so
that whatever else the machine does meets both. Passages per second of either are compared; adding reads, cuts, embeds
and stores.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError
from recollect.library.indexing import passages_of
from recollect.library.intake import tile
from recollect.library.passages import search_text
from recollect.library.reading import read_document
from recollect.storage import embedded
from recollect_bench.manuals import html_files
from recollect_bench.peak import watch_memory
from recollect_bench.trial import as_admin, ensure_tenant

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect.providers.embedders import Embedder
    from recollect_bench.show import Show

#: Passages that the embedder alone has of each folder, half of them before it is added and half after.
ALONE = 2_048
#: The biggest folder is measured at one page in so many when the library is there already.
AGAIN_EVERY = 8


@dataclass(slots=True)
class _Added:
    """What adding came to, summed over the folders."""

    documents: int = 0
    tokens: int = 0
    sections: int = 0
    passages: int = 0
    seconds: float = 0.0
    alone_seconds: float = 0.0
    folders: dict[str, Any] = field(default_factory=dict)


def fill_library(
    client: Recollect,
    tenant: str,
    docs: Path,
    folders: Sequence[str],
    *,
    every: int,
    show: Show,
    model: Embedder,
) -> tuple[Recollect, dict[str, Any]]:
    """Add every n-th page of the folders to an empty tenant, and measure it."""
    inside, _ = ensure_tenant(client, tenant)
    client.add("The embedder is loaded.")  # in a tenant of its own: what is timed below is adding
    added = _Added()
    with watch_memory(embedded.status(client.settings.home).pid) as peak:
        for folder in folders:
            _add(inside, docs, folder, every, added, model, show)
    return inside, {
        "documents": added.documents,
        "tokens": added.tokens,
        "sections": added.sections,
        "passages": added.passages,
        "seconds": added.seconds,
        "passages_per_s": added.passages / added.seconds,
        "tokens_per_s": added.tokens / added.seconds,
        "embedder_passages_per_s": added.passages / added.alone_seconds,
        "ratio": added.alone_seconds / added.seconds,
        "peak_mb": peak.together_mb,
        "peak_process_mb": peak.process_mb,
        "peak_server_mb": peak.server_mb,
        "folders": added.folders,
    }


def is_filled(client: Recollect, tenant: str, docs: Path, folders: Sequence[str], *, every: int) -> bool:
    """Whether the tenant has all pages, indexed; one that was cut short is emptied."""
    inside, _ = ensure_tenant(client, tenant)
    held = {one.name: one.state for one in inside.library.list(limit=100_000)}
    wanted = {
        str(file.relative_to(docs)) for folder in folders for file in html_files(docs, folder, every=every)
    }
    if wanted <= {name for name, state in held.items() if state == "ready"}:
        return True
    if held:
        inside.tenants.forget(tenant)
        ensure_tenant(client, tenant)
    return False


def drop_tenant(client: Recollect, tenant: str) -> None:
    """Forget a tenant that was made for one measurement."""
    as_admin(client, tenant).tenants.forget(tenant)


def _add(
    inside: Recollect, docs: Path, folder: str, every: int, added: _Added, model: Embedder, show: Show
) -> None:
    pages = html_files(docs, folder, every=every)
    texts = sample_passages(pages, ALONE)
    before, after = texts[::2], texts[1::2]
    alone_s = _time_alone(model, before)
    with (
        _staged(docs, folder, pages, whole=every == 1) as source,
        show.stage(f"adding {folder}", len(pages)) as progress,
    ):
        started = time.perf_counter()
        report = inside.library.add_folder(source, id=folder, progress=progress)
        seconds = time.perf_counter() - started
    if report.errors:
        first = report.errors[0]
        raise InvalidInputError(f"{len(report.errors)} pages were refused; {first.path}: {first.message}")
    alone_s += _time_alone(model, after)
    passages = sum(one.embedded for one in report.reports)
    expected_s = alone_s / len(texts) * passages
    added.documents += len(report.reports)
    added.tokens += sum(one.document.tokens for one in report.reports)
    added.sections += sum(one.document.sections for one in report.reports)
    added.passages += passages
    added.seconds += seconds
    added.alone_seconds += expected_s
    added.folders[folder] = {
        "documents": len(report.reports),
        "passages": passages,
        "seconds": seconds,
        "ratio": expected_s / seconds,
    }


def sample_passages(pages: Sequence[Path], count: int) -> list[str]:
    """What would be embedded of some pages, spread over all of them; at most so many passages."""
    texts: list[str] = []
    step = max(len(pages) // 40, 1)
    order = [page for start in range(step) for page in pages[start::step]]
    for page in order:
        read = read_document(page.read_bytes(), name=page.name)
        lines = read.lines
        for section in tile(read.sections, len(lines)):
            body = "\n".join(lines[section.line_start - 1 : section.line_end])
            texts += [
                search_text(one, title=read.title, path=section.path)
                for one in passages_of(section.heading, body)
            ]
        if len(texts) >= count:
            break
    kept = texts if len(texts) <= count else [texts[at * len(texts) // count] for at in range(count)]
    if len(kept) < 2:
        raise InvalidInputError("these pages hold too little text to measure anything")
    return kept


def _time_alone(model: Embedder, texts: Sequence[str]) -> float:
    started = time.perf_counter()
    model.embed(texts)
    return time.perf_counter() - started


@contextmanager
def _staged(docs: Path, folder: str, pages: Sequence[Path], *, whole: bool) -> Iterator[Path]:
    """The folder itself, or a copy with some of its pages."""
    if whole:
        yield docs / folder
        return
    with tempfile.TemporaryDirectory() as copied:
        for page in pages:
            target = Path(copied) / page.relative_to(docs / folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, target)
        yield Path(copied)
