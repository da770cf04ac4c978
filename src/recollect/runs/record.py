"""What a run has found and done so far, and what that adds up to; the trajectory is made of it at the end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from recollect.domain.findings import Finding
from recollect.domain.trajectory import CallRecord, Step, Usage
from recollect.runs.planners.contract import CallAnswer, Plan
from recollect.runs.times import Span

#: Tokens, dollars and requests of asking a planner.
Cost = tuple[int, float, int]
#: The words of a refusal that end a run, when nothing else comes of a step. A refused depth is only that call's.
_LIMITS = frozenset({"subcalls", "tokens", "usd"})


class Record:
    """Grows step by step; nothing in it is ever replaced."""

    def __init__(self, *, max_findings: int, notes: Iterable[str] = ()) -> None:
        self.steps: list[Step] = []
        self.findings: list[Finding] = []
        #: Of each step: what its calls gave back to read, and what its plan wants handed back.
        self.observed: list[tuple[CallAnswer, ...]] = []
        self.memos: list[Any] = []
        #: Steps in a row that brought nothing new.
        self.idle = 0
        #: The limit that a call of the last step would have passed.
        self.refused_by: str | None = None
        self._max_findings = max_findings
        self._notes = dict.fromkeys(notes)
        self._known: set[object] = set()
        self._unread: tuple[Finding, ...] = ()
        self._offered: dict[object, Finding] = {}
        self._seen: set[str] = set()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the record should know."""
        return tuple(self._notes)

    @property
    def offered(self) -> tuple[Finding, ...]:
        """All that calls offered, each once, whether it was taken or not."""
        return tuple(self._offered.values())

    def note(self, text: str) -> None:
        """Once is enough."""
        self._notes[text] = None

    def add(self, findings: Iterable[Finding]) -> list[Finding]:
        """Those that are new. The one that was first stays: an observation never replaces another."""
        new = []
        for finding in findings:
            same = _identity(finding)
            if same in self._known:
                continue
            if len(self.findings) >= self._max_findings:
                self.note(f"there was more to find than {self._max_findings}")
                break
            self._known.add(same)
            self.findings.append(finding)
            new.append(finding)
        return new

    def claim(self, plan: Plan) -> list[Finding]:
        """What a plan says was found. The planner has read what the calls before offered, and takes this of it."""
        self._unread = ()
        return self.add(plan.findings or ())

    def add_step(
        self,
        plan: Plan,
        answers: Sequence[CallAnswer],
        *,
        cost: Cost,
        iteration: int,
        span: Span,
        claimed: bool,
    ) -> list[Finding]:
        """A step with the answers of its calls; `claimed`: its plan brought something new. What they brought."""
        tokens, usd, requests = cost
        offered = tuple(finding for answer in answers for finding in answer.findings)
        for finding in offered:
            if len(self._offered) < self._max_findings:
                self._offered.setdefault(_identity(finding), finding)
        added = []
        if plan.findings is None:
            added = self.add(offered)
        else:
            self._unread = offered
        self.observed.append(tuple(answers))
        self.memos.append(plan.memo)
        for note in plan.notes:
            self.note(note)
        self.refused_by = next((a.refused_by for a in answers if a.refused_by in _LIMITS), None)
        for answer in answers:
            if answer.note:
                self.note(answer.note)
        new = {_fingerprint(answer.record) for answer in answers if answer.record.error is None} - self._seen
        self._seen |= new
        self.idle = 0 if new or added or claimed else self.idle + 1
        self.steps.append(
            Step(
                iteration=iteration,
                thought=plan.thought,
                tool_calls=tuple(answer.record for answer in answers),
                findings=tuple(self.findings),
                next_direction=plan.next_direction,
                started_at=span.started_at,
                duration_ms=span.end()[1],
                done=plan.done,
                planner_tokens=tokens,
                planner_usd=usd,
                planner_calls=requests,
                choice=plan.choice,
            )
        )
        return added

    def add_unplanned(self, cost: Cost, *, iteration: int, span: Span) -> None:
        """A step without a plan, if asking for one was not free: the sums of a record must be right."""
        if any(cost):
            unread, self._unread = self._unread, ()
            self.add_step(Plan(findings=()), (), cost=cost, iteration=iteration, span=span, claimed=False)
            self._unread = unread

    def accept_unread(self) -> list[Finding]:
        """The planner had no chance to read what the last calls offered: better kept than lost.

        One that never took anything that holds was no judge of it either.
        """
        took = any(finding.confidence > 0 for finding in self.findings)
        unread, self._unread = self._unread if took else self.offered, ()
        added = self.add(unread)
        if added:
            self.steps[-1] = replace(self.steps[-1], findings=tuple(self.findings))
        return added


def usage_of(steps: Sequence[Step], *, depth: int, wall_time_ms: float) -> Usage:
    """What steps add up to, with the runs that their calls started."""
    calls = [call for step in steps for call in step.tool_calls]
    below = [call.child.usage for call in calls if call.child is not None]
    usd = [
        *(call.usd for call in calls),
        *(step.planner_usd for step in steps),
        *(usage.usd for usage in below),
    ]
    return Usage(
        subcalls=sum(
            [not (call.cached or call.refused) for call in calls], sum(usage.subcalls for usage in below)
        ),
        cached_subcalls=sum([call.cached for call in calls], sum(usage.cached_subcalls for usage in below)),
        model_calls=sum(call.model_call for call in calls)
        + sum(step.planner_calls for step in steps)
        + sum(usage.model_calls for usage in below),
        tokens=sum(call.tokens for call in calls)
        + sum(step.planner_tokens for step in steps)
        + sum(usage.tokens for usage in below),
        usd=round(sum(usd, 0.0), 9),
        wall_time_ms=wall_time_ms,
        max_depth=max([depth, *(usage.max_depth for usage in below)]),
    )


def _fingerprint(record: CallRecord) -> str:
    return json.dumps([record.tool, dict(record.parameters), record.result], sort_keys=True)


def _identity(finding: Finding) -> object:
    """What makes two findings one: they speak for the same group by the same words of the same place."""
    cited = tuple(
        (citation.kind, citation.file_path, citation.line_start, citation.line_end, citation.content_hash)
        for citation in finding.citations
    )
    if cited:
        return finding.group, cited, finding.evidence
    return finding.group, finding.source_file, finding.line_range, finding.evidence or finding.description
