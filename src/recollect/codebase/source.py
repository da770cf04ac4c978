"""Code as a source: an exploration answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.codebase.dry_run import dry_run
from recollect.codebase.request import ExploreRequest
from recollect.domain.codebase import ExplorePlan
from recollect.runs.source import Question, Told

if TYPE_CHECKING:
    from recollect.codebase.explore import RLMOrchestrator


class CodeSource:
    """The code below one folder."""

    name = "code"

    def __init__(self, orchestrator: RLMOrchestrator) -> None:
        self._orchestrator = orchestrator

    async def plan(self, question: Question) -> ExplorePlan:
        """As of an exploration."""
        return await dry_run(self._orchestrator, self._request(question), question.model)

    def _request(self, question: Question) -> ExploreRequest:
        return ExploreRequest.check(self._orchestrator.settings, query=question.text)

    async def tell(self, question: Question) -> Told:
        """What an exploration answers."""
        result = await self._orchestrator.explore(
            None,
            question.text,
            timeout_seconds=min(question.seconds_left(), self._request(question).timeout_seconds),
            on_event=question.on_event,
            purse=question.purse.child(),
        )
        coverage = {"files": len(result.files)}
        if not result.success:
            return Told(coverage=coverage)
        return Told(text=result.synthesis, citations=result.citations, notes=result.notes, coverage=coverage)
