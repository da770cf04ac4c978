"""What an agent is given to answer with: the text of a context, and what went into it.

How the text is put together is in `retrieval/assemble`.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from recollect.domain.answers import DomainResults
from recollect.domain.query import QueryType, TimeRange
from recollect.domain.results import Hit

#: Memories stand between these in the text; the sentence above them says that what is inside is data.
FENCE = "retrieved_context"


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentedContext:
    """Memories and current data for one question, as text that is never longer than `max_tokens`.

    `memories` are the hits that are in the text, in its order; `omitted` is how many relevant ones did not fit.
    `notes` says what was degraded or left out, and how to mend it.
    """

    text: str
    memories: tuple[Hit, ...]
    tokens: int
    max_tokens: int
    query: str
    query_id: UUID
    query_type: QueryType
    time_range: TimeRange | None = None
    domain_results: DomainResults | None = None
    notes: tuple[str, ...] = ()
    omitted: int = 0

    def to_messages(self, *, system: str | None = None, user: str | None = None) -> list[dict[str, str]]:
        """Chat messages: the context as the system message, after your own `system` text; then the question.

        The stored texts stand in the context's fence as data. `user` replaces the question.
        """
        instructions = "\n\n".join(part for part in (system, self.text.rstrip("\n")) if part)
        messages = [{"role": "system", "content": instructions}] if instructions else []
        return [*messages, {"role": "user", "content": self.query if user is None else user}]

    def __str__(self) -> str:
        return self.text
