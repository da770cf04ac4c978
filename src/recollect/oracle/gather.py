"""Gathering what a consultation reads: the documents it names or the library has about it, and the code it names.

By what that is, and by the question, it is read in one look or step by step (`decide`).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.domain.oracle import ProcessingMode, Skipped
from recollect.files.walk import TOO_LATE
from recollect.library.bundle import Bundle, FileBundler
from recollect.library.leads import merge_looks, parts_of
from recollect.library.material import FILE, Entry, Lead
from recollect.oracle.material import ConsultedMaterial
from recollect.oracle.request import ConsultRequest
from recollect.runs.router import ComplexityRouter, RouteDecision
from recollect.text.aim import wants_rows

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.domain.tenancy import TenantContext
    from recollect.oracle.shelves import Shelves
    from recollect.providers.models import Profile
    from recollect.workspace import Workspace

#: More code than this is not bundled unless `max_input_tokens` says so: it is read into memory at once.
MAX_BUNDLE_TOKENS = 400_000
#: Below it one look or one request usually wins; the published work on recursive models puts the crossing here.
DIRECT_TOKENS = 16_000
#: Passages that the first look takes.
FIRST_LOOK = 10
_EVERYTHING = ("**",)
_SKIPPED_SHOWN = 50
#: Of the time: what reading files may take, so that something is left for asking them.
_FILES_SHARE = 0.5
#: A first look takes a part of a second; without one nothing can be said at all, however little time there is.
_LOOK_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The material, where a first look leads, and what was left out.

    `library` is how many documents, of how many tokens, the first look compared where none were named; `late` is what
    the time did not last for.
    """

    material: ConsultedMaterial
    leads: tuple[Lead, ...]
    skipped: tuple[Skipped, ...]
    library: tuple[int, int] | None = None
    late: tuple[str, ...] = ()

    @property
    def documents(self) -> tuple[Entry, ...]:
        """The library's documents in the catalogue."""
        return tuple(entry for entry in self.material.entries.values() if entry.kind != FILE)

    @property
    def files(self) -> tuple[Entry, ...]:
        """The files in the catalogue."""
        return tuple(entry for entry in self.material.entries.values() if entry.kind == FILE)

    @property
    def tokens(self) -> int:
        """Of everything in the catalogue."""
        return sum(entry.tokens for entry in self.material.entries.values())

    def mapped_tokens(self, profile: Profile) -> int:
        """What a question to every section may be put to: all of the library where a model may name any of it."""
        if self.library is None or profile.shape == "small":
            return self.tokens
        return self.library[1] + sum(file.tokens for file in self.files)

    def others(self, doc_ids: Collection[str]) -> int:
        """How many documents of a library of which none were named are not among these."""
        if self.library is None:
            return 0
        return max(self.library[0] - len(set(doc_ids) - {file.doc_id for file in self.files}), 0)


async def gather(
    workspace: Workspace,
    context: TenantContext,
    request: ConsultRequest,
    door: Shelves,
    *,
    seconds: float = math.inf,
) -> Gathered:
    """Find and measure the material within `seconds`. Unknown ids and folders out of bounds are errors."""
    until = time.monotonic() + seconds
    embedder = None
    if request.working_dir is not None:
        embedder = (await workspace.open_space(context)).embedder
    now = time.monotonic()
    files_until = now + _FILES_SHARE * (until - now)
    bundle = await asyncio.to_thread(_bundle, request, workspace.settings.roots, files_until)
    unread = any(reason.startswith(TOO_LATE) for _, reason in bundle.left_out)
    late = ["the time was over before all files were read"] if unread else []
    named = () if not request.doc_ids else await door.find(request.doc_ids)
    material = ConsultedMaterial(
        None if request.doc_ids == () else door,
        documents=named,
        files=bundle.files,
        whole_library=request.doc_ids is None,
        embedder=embedder,
    )
    leads: list[Lead] = []
    left_s = max(until - time.monotonic(), _LOOK_S)
    try:
        async with asyncio.timeout(left_s if math.isfinite(left_s) else None):
            leads = await first_look(material, request.problem)
    except TimeoutError:
        late.append("the time was over before it was known where the material speaks of it")
    door.refresh()
    skipped = [Skipped(what=path, reason=reason) for path, reason in bundle.left_out[:_SKIPPED_SHOWN]]
    if len(bundle.left_out) > _SKIPPED_SHOWN:
        more = len(bundle.left_out) - _SKIPPED_SHOWN
        skipped.append(Skipped(what=f"{more} more files", reason="left out for reasons like those above"))
    library = await door.size() if request.doc_ids is None else None
    return Gathered(
        material=material, leads=tuple(leads), skipped=tuple(skipped), library=library, late=tuple(late)
    )


def decide(request: ConsultRequest, tokens: int, settings: Settings) -> tuple[ProcessingMode, str]:
    """Direct or recursive, by the hint, the size of the material and how complex the question is; and why, in words."""
    problem, depth_hint = request.problem, request.depth_hint
    router = ComplexityRouter(threshold=settings.recursion_threshold)
    if depth_hint == "quick":
        return "direct", "quick was asked for"
    if depth_hint == "thorough":
        return "rlm", "thorough was asked for"
    if wants_rows(problem):
        return "rlm", "the question wants all of something, so every section is asked"
    if tokens > DIRECT_TOKENS:
        return "rlm", f"the material has {tokens:,} tokens, more than {DIRECT_TOKENS:,}"
    if router.route(problem) is RouteDecision.RLM:
        return "rlm", "the question is complex"
    return "direct", f"the material has {tokens:,} tokens and the question is simple"


async def first_look(material: ConsultedMaterial, problem: str) -> list[Lead]:
    """Where a problem leads, and each of the questions it is made of; the best first."""
    whole = await material.look(problem, limit=FIRST_LOOK)
    parts = [await material.look(part, limit=FIRST_LOOK) for part in parts_of(problem)]
    return merge_looks(whole, parts, threshold=material.threshold, limit=FIRST_LOOK)


def _bundle(request: ConsultRequest, allowed_roots: Sequence[Path] | None, until: float) -> Bundle:
    if request.working_dir is None:
        return Bundle(files=(), left_out=(), tokens=0)
    bundler = FileBundler(request.working_dir, allowed_roots=allowed_roots)
    # No globs mean the whole folder; an empty list means no file.
    globs = _EVERYTHING if request.files is None else request.files
    if not globs:
        return Bundle(files=(), left_out=(), tokens=0)
    cap = MAX_BUNDLE_TOKENS if request.max_input_tokens is None else request.max_input_tokens
    return bundler.bundle(globs, max_tokens=cap, until=until)
