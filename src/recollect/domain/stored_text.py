"""Stored text among words of ours: it is shown, and it can't do anything.

Whoever puts stored text into a context or an answer passes it through here first.
"""

from __future__ import annotations

import re

from recollect.domain.context import FENCE

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
