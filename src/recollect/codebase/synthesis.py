"""`ResultSynthesizer`: findings into an answer with marks, in a model's words where one spoke, else as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.domain.findings import Finding
from recollect.runs.synthesis import Synthesis, put_into_words, synthesise

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

#: An answer without a model that is longer than this is a listing.
MAX_CHARS = 6_000


class ResultSynthesizer:
    """Makes the answer. `model` puts it into words; when it fails, or has no time, the findings stand as they are."""

    def __init__(self, model: ChatModel | None = None, *, max_chars: int = MAX_CHARS) -> None:
        self._model = model
        self._max_chars = max_chars
        self.notes: list[str] = []
        #: Whether the model put the answer into words.
        self.in_words = False

    async def synthesise(
        self, query: str, findings: Sequence[Finding], *, seconds: float | None = None, guidance: str = ""
    ) -> Synthesis:
        """The answer, within the seconds that are left; what it costs is the business of the model's purse."""
        made, notes = await put_into_words(self._model, query, findings, guidance=guidance, seconds=seconds)
        self.notes += notes
        self.in_words = made is not None
        return made or synthesise(findings, max_chars=self._max_chars)
