"""What memories answer, in words: a sentence, a list, a count with its rows, or a table of sides.

Without a model nothing is said that a memory does not say. With one, it puts what was found into words, and every
passage names the memories it rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.domain.findings import Finding
from recollect.domain.query import Aim, Want
from recollect.domain.trajectory import RunPlan
from recollect.retrieval.pipeline import search
from recollect.retrieval.recursive.dry_run import dry_run
from recollect.retrieval.recursive.memory_rows import cite_memory, pieces_of, read_memories
from recollect.retrieval.request import SearchRequest
from recollect.runs.bounds import Bound, bound_of, priced
from recollect.runs.fan_out import FanOut
from recollect.runs.models import Models, chosen_name, open_models
from recollect.runs.pieces import estimated_rows, rows_room
from recollect.runs.row_book import ITEM
from recollect.runs.source import Question, Told
from recollect.runs.synthesis import compare, put_into_words, synthesise
from recollect.runs.tables import count_of, write_tables
from recollect.text.aim import wants_count, wants_rows

if TYPE_CHECKING:
    from recollect.domain.results import Hit, SearchResults
    from recollect.domain.tenancy import TenantContext
    from recollect.providers.models import ChatModel, Profile
    from recollect.workspace import Workspace

#: What a list or a count reads; where one thing is wanted, what stands behind the first few is no answer.
WIDE, NARROW = 100, 5
BEFORE = "Before:"
#: From this score on a memory is relevant; the default of `search`.
THRESHOLD = 0.7
#: Of the time: what asking every memory may take, so that a search can still answer.
_ROWS_SHARE = 0.8
_NOT_ALL = "not every memory could be asked; what a search finds is said"


class MemorySource:
    """The memories that a caller sees."""

    name = "memories"

    def __init__(self, workspace: Workspace, context: TenantContext) -> None:
        self._workspace, self._context = workspace, context

    async def plan(self, question: Question) -> RunPlan:
        """A search that a model plans, a question to every memory, putting it into words; each where it is due."""
        settings = self._workspace.settings
        searched = await dry_run(self._workspace, self._context, self._request(question))
        rows = rows_room(searched.material_tokens, settings.budget.rows_max_tokens)
        model = "" if question.depth == "quick" else chosen_name(settings, question.model) or ""

        def measure(profile: Profile, _: Profile) -> Bound:
            answer = priced(profile, 0, 0, 0, answer=True)
            return answer + estimated_rows(profile, rows) if wants_rows(question.text) else answer

        told, notes = bound_of(model, settings, measure)
        return replace(
            searched,
            model=model,
            notes=tuple(dict.fromkeys([*notes, *searched.notes])),
            **(told + Bound.of(searched)).limits(),
        )

    def _request(self, question: Question) -> SearchRequest:
        limit = WIDE if question.aim.want.several else NARROW
        workspace = self._workspace
        return SearchRequest.check(
            workspace.settings, query=question.text, clock=workspace.clock(), limit=limit, threshold=THRESHOLD
        )

    async def tell(self, question: Question) -> Told:
        """What a search answers, in words; in a model's where one is asked and the question is not a quick one."""
        settings, purse = self._workspace.settings, question.purse.child()
        models = Models()
        if question.depth != "quick":
            models = open_models(settings, question.model, opener=self._workspace.model)
        model = models.charged_to(purse).root
        covered: dict[str, int] = {}
        late: tuple[str, ...] = ()
        if model is not None and wants_rows(question.text):
            answer, covered = await tell_rows(
                self._workspace,
                self._context,
                question.text,
                question.aim,
                model,
                seconds=_ROWS_SHARE * question.seconds_left(),
            )
            if answer is not None:
                return replace(answer, coverage=covered)
            if covered["looked"] < covered["memories"]:
                late = (_NOT_ALL,)
        results = await search(
            self._workspace,
            self._context,
            self._request(question),
            purse=purse,
            seconds=question.seconds_left(),
        )
        answer = await tell_memories(question, results, model) or Told()
        notes = (*late, *results.notes, *models.notes, *answer.notes)
        return replace(answer, notes=notes, coverage={**covered, "found": len(results)})


async def tell_memories(question: Question, results: SearchResults, model: ChatModel | None) -> Told | None:
    """The answer of what a search found; None when it found nothing."""
    if not results:
        return None
    aim, findings = question.aim, [_finding(hit) for hit in results]
    words, notes = await put_into_words(model, question.text, findings, seconds=question.seconds_left())
    if words is not None:
        return Told(text=words.text, citations=words.citations, notes=notes)
    current = [hit for hit in results if not hit.outdated]
    if aim.want is Want.COMPARISON and len({hit.group for hit in current}) > 1:
        made = compare([_finding(hit, group=hit.group) for hit in current])
    else:
        made = synthesise(findings)
    text = made.text
    if aim.want is Want.NUMBER and len(current) > 1:
        text = f"{len(current)}:\n{text}"
    elif not aim.want.several and not aim.topic:
        text = _sentences(text, current, results)
    return Told(text=text, citations=made.citations, notes=(*notes, *made.notes))


async def tell_rows(
    workspace: Workspace,
    context: TenantContext,
    question: str,
    aim: Aim,
    model: ChatModel,
    *,
    seconds: float | None = None,
) -> tuple[Told | None, dict[str, int]]:
    """The answer of a question put to every memory, and how many were looked at; None where none holds any of it.

    What came back within the `seconds` is told when they are over.
    """
    most = workspace.settings.budget.rows_max_tokens
    memories, notes = await read_memories(workspace, context)
    asking = FanOut(question, (ITEM,), pieces_of(memories), model=model, max_tokens=most, seconds=seconds)
    mapped = await asking.go()
    rows = mapped.rows
    covered = {"found": len(rows.rows), "looked": rows.looked, "memories": rows.total}
    if not rows.rows:
        return None, covered
    text, citations = write_tables([rows])
    if aim.want is Want.NUMBER or wants_count(question):
        text = f"{count_of([rows])}\n{text}"
    coverage = f"memories: {rows.coverage}"
    return Told(text=text, citations=citations, notes=(coverage, *rows.notes, *notes)), covered


def _sentences(listed: str, current: Sequence[Hit], results: Sequence[Hit]) -> str:
    """A listing as sentences: what holds first, then what held before."""
    lines = [line.removeprefix("- ") for line in listed.splitlines()]
    if len(lines) != len(results):
        return listed
    outdated = [line for line, hit in zip(lines, results, strict=True) if hit.outdated]
    holds = [line for line, hit in zip(lines, results, strict=True) if not hit.outdated]
    return "\n".join([*holds, *(f"{BEFORE} {line}" for line in outdated)] if current else lines)


def _finding(hit: Hit, *, group: str | None = None) -> Finding:
    words = f"{hit.speaker}: {hit.text}" if hit.speaker else hit.text
    citation = cite_memory(hit.id, hit.text, supports=not hit.outdated)
    dated = f"{words} ({hit.created_at:%-d %B %Y})"
    return Finding.on(citation, description=dated, confidence=hit.score, group=group)
