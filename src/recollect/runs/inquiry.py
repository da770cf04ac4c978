"""One question to one source, from the material to the record: the stages that every kind of run has, in their order.

Memories (`retrieval/recursive/executor.py`), documents (`oracle/consult.py`) and code (`codebase/exploration.py`)
are askers: each says what to gather, what to look at, where a claim stands, how it is read again, what is said without
a model, and what the record looks like. Models, budget, loop, notes and events are the same for all, and are here.

Whatever a model or a limit does, somebody asked a question: what can be answered without a model is, and `notes` and
`stopped_by` say what went wrong. Only bad input and a store that fails raise.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from recollect.domain.findings import Citation, Finding
from recollect.runs.budget import Limits
from recollect.runs.citations import standing
from recollect.runs.engine import run
from recollect.runs.events import Announcer, Words
from recollect.runs.planners.claims import anchored
from recollect.runs.synthesis import NO_MORE_QUESTIONS, Synthesis, put_into_words
from recollect.runs.times import utc_now

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.domain.tenancy import TenantContext
    from recollect.domain.trajectory import Trajectory
    from recollect.providers.models import ChatModel
    from recollect.providers.models.purse import Purse
    from recollect.runs.cache import Cache
    from recollect.runs.environment import Environment
    from recollect.runs.models import Models
    from recollect.runs.planners.contract import Planner
    from recollect.storage.store import Store, Transaction

_log = logging.getLogger(__name__)

Result = TypeVar("Result")
#: The present text of what citations name, by kind and path.
Texts = Mapping[tuple[str, str], str]


class Inquiry(ABC, Generic[Result]):
    """One question on one account and one clock. `guidance` is what a model is told beside the question.

    `words` are those of its events, for a `subscriber` and, where a `store` is open, for who watches the tenant;
    `event` makes one (`events.Make`). Without them nothing is told.
    """

    words: Words | None = None
    #: The subscriber hears what the engine tells instead of what is said of it.
    engine_events = False
    #: What claims quote, as a note names it.
    material_name = "the material"

    def __init__(
        self,
        settings: Settings,
        question: str,
        *,
        models: Models,
        purse: Purse,
        seconds: float,
        guidance: str = "",
        store: Store | None = None,
        context: TenantContext | None = None,
        subscriber: Callable[[Any], Awaitable[None] | None] | None = None,
        event: Callable[..., Any] | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.settings, self.question, self.guidance = settings, question, guidance
        self.store, self.context = store, context
        self.purse, self.models = purse, models.charged_to(purse)
        self.notes = list(models.notes)
        self.stopped_by = "done"
        #: The model fell silent, and is not asked to put into words what was found without it.
        self.model_failed = False
        self.seconds, self.began = seconds, time.monotonic()
        self.announcer: Announcer | None = None
        if self.words is not None and event is not None:
            self.announcer = Announcer(
                store,
                context,
                words=self.words,
                make=event,
                subscriber=subscriber,
                engine_events=self.engine_events,
                now=now,
            )

    async def go(self) -> Result:
        """Everything, in order."""
        try:
            await self.gather()
            findings = await self.look()
            kept = await self.verify(findings)
            return await self.conclude(kept)
        except BaseException as error:
            # Whoever cancels waits for this: what was paid for is there when it is asked again.
            if self.announcer is not None:
                self.announcer.fail(error)
            await self.keep_failure(error)
            raise
        finally:
            await self.close()
            if self.announcer is not None:
                await self.announcer.close()

    # ---------------------------------------------------------------- what an asker says

    @abstractmethod
    async def gather(self) -> None:
        """Find and measure the material."""

    @abstractmethod
    async def look(self) -> Sequence[Finding]:
        """What answers: by one look, by one request, or by the loop."""

    async def read_again(self, citations: Sequence[Citation]) -> Texts:
        """What is cited, as it is now."""
        return {}

    @abstractmethod
    async def conclude(self, findings: Sequence[Finding]) -> Result:
        """The answer, and its record."""

    async def keep_failure(self, error: BaseException) -> None:
        """Record that there is no answer."""

    async def close(self) -> None:
        """Give back what was opened."""

    # ---------------------------------------------------------------- what they share

    def say(self, type: str, /, **detail: Any) -> None:
        """Something happened."""
        if self.announcer is not None:
            self.announcer.say(type, **detail)

    async def keep(self, insert: Callable[[Transaction, str], Awaitable[object]]) -> None:
        """Store the record by who asked, where a store is open; one that can't be stored costs nobody the answer.

        Nothing is kept of a caller without a name, unless it is an admin.
        """
        store, context = self.store, self.context
        if store is None or context is None or (context.user_id is None and not context.is_admin):
            return
        try:
            async with store.transaction(context) as tx:
                await insert(tx, context.user_id or "")
        except Exception as error:
            _log.warning("the record of a run could not be kept", exc_info=error)

    def left_s(self) -> float:
        """Seconds that are left."""
        return max(0.0, self.began + self.seconds - time.monotonic())

    def widened(self, limits: Limits) -> Limits:
        """What a loop may use: with a model the steps of its profile, and calls as long as a model may take."""
        profile = self.models.profile
        if profile is None:
            return limits
        tool_s = max(limits.sub_call_timeout_s or 0.0, self.settings.model_profile.timeout_s)
        return replace(limits, max_steps=profile.steps, sub_call_timeout_s=tool_s)

    def model_planner(self) -> Planner | None:
        """A planner that asks the model; None without one."""
        if self.models.root is None:
            return None
        from recollect.runs.planners.model import ModelPlanner

        return ModelPlanner(self.models.root, sub_call_model=self.models.sub_call)

    async def loop(
        self, environment: Environment, planner: Planner, limits: Limits, cache: Cache, *beside: str
    ) -> Trajectory:
        """One run of the engine. A planning model is told the guidance and what stands `beside` the question."""
        question = self.question
        if planner.name.startswith("model:"):
            question = "\n\n".join(part for part in (self.question, self.guidance, *beside) if part)
        ended = await run(
            question,
            environment=environment,
            planner=planner,
            limits=limits,
            purse=self.purse,
            cache=cache,
            on_event=self.announcer,
        )
        self.stopped_by = ended.stopped_by
        return ended

    def place(
        self,
        claims: Sequence[Finding],
        *,
        spans: Sequence[tuple[str, int, int]],
        lines: Callable[[str], Sequence[str] | None],
        cite: Callable[[str, int, int], Citation | None],
    ) -> tuple[Finding, ...]:
        """Claims at the lines that they quote; those that quote none are dropped, and said.

        A quote is looked for where a claim says that it stands, else in all `spans` that were read.
        """
        placed = [anchored(claim, spans, lines, cite) for claim in claims]
        kept = tuple(finding for finding in placed if finding is not None)
        lost = sum(claim.confidence > 0 for claim in claims) - sum(claim.confidence > 0 for claim in kept)
        if lost:
            self.notes.append(
                f"{lost} findings of the model quote no line of {self.material_name} and were dropped"
            )
        return kept

    async def verify(self, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Those whose every citation stands where it is read now."""
        texts = await self.read_again([citation for finding in findings for citation in finding.citations])
        kept, notes = standing(findings, lambda kind, path: texts.get((kind, path)))
        self.notes += notes
        return kept

    def speaker(self) -> ChatModel | None:
        """The model that puts findings into words. One that fell silent, or has nothing left, is not asked."""
        silent = self.model_failed or self.stopped_by in NO_MORE_QUESTIONS
        return None if silent else self.models.root

    async def put_into_words(self, findings: Sequence[Finding], model: ChatModel | None) -> Synthesis | None:
        """The answer in the model's words, within the time that is left; None when it gave none."""
        made, notes = await put_into_words(
            model, self.question, findings, guidance=self.guidance, seconds=self.left_s()
        )
        self.notes += notes
        return made
