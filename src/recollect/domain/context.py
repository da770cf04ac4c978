"""What an agent is given to answer with: the text of a context, what went into it, and stored text made harmless.

How the text is put together is in `retrieval/assemble`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

from recollect.domain.ontology import DomainResults
from recollect.domain.query import QueryType, TimeRange
from recollect.domain.results import Hit
from recollect.domain.tables import Readable

#: Memories stand between these in the text; the sentence above them says that what is inside is data.
FENCE = "retrieved_context"


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentedContext(Readable):
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

    def _remarks(self) -> tuple[str, ...]:
        return self.notes


#: What opens or closes the fence, and what chat templates of models take for the beginning or end of a turn.
_TAG = re.compile(
    rf"<(?=\s*/?\s*{FENCE}|[|｜]|/?s>|/?(?:start|end)_of_turn>|<\s*/?SYS>>)|\[(?=/?INST\])", re.IGNORECASE
)
#: Control characters but for blanks and line breaks, and what turns the direction of writing or can't be seen at all.
_HIDDEN = re.compile(
    r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u200b\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_MARK = re.compile(r"\[(\d+)\]")


def guarded(text: str) -> str:
    """A text that can't close the fence, act as a token of a model, steer a terminal, or hide anything."""
    return _TAG.sub(lambda match: "&lt;" if match[0] == "<" else "&#91;", _HIDDEN.sub("", text))


def quoted(text: str) -> str:
    """A text for an answer: guarded, and with no [7] of its own that a reader would take for a citation."""
    return _MARK.sub(r"(\1)", guarded(text))
