"""Documents as a source: a consultation answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.domain.oracle import DryRun
from recollect.oracle.consult import consult
from recollect.oracle.dry_run import dry_run
from recollect.oracle.request import ConsultRequest
from recollect.oracle.shelves import Shelves
from recollect.runs.source import Question, Told
from recollect.text.aim import wants_rows

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace


class LibrarySource:
    """The documents that a caller sees."""

    name = "library"

    def __init__(self, workspace: Workspace, context: TenantContext) -> None:
        self._workspace, self._context = workspace, context

    async def plan(self, question: Question) -> DryRun:
        """As of a consultation."""
        return await dry_run(self._workspace, self._context, _request(question))

    async def tell(self, question: Question) -> Told:
        """What a consultation answers; an empty library is not consulted."""
        documents, _ = await Shelves(self._workspace, self._context).size()
        if not documents:
            return Told(coverage={"documents": 0})
        result = await consult(
            self._workspace,
            self._context,
            _request(question),
            on_event=question.on_event,
            purse=question.purse.child(),
            seconds=question.seconds_left(),
        )
        coverage = result.coverage.document()
        if not result.found:
            return Told(coverage=coverage)
        judged = self._workspace.judge_fault is None and not (
            result.consultation.model or wants_rows(question.text)
        )
        return Told(
            text=result.answer,
            sure=not judged or any(citation.supports for citation in result.citations),
            citations=result.citations,
            notes=result.notes,
            coverage=coverage,
        )


def _request(question: Question) -> ConsultRequest:
    return ConsultRequest.check(problem=question.text, depth_hint=question.depth, model=question.model)
