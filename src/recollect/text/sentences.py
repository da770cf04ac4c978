"""Cutting a text into its sentences: the splitter of facts, summaries and quoted documents.

A line ends its sentence, and so do full stops, question and exclamation marks; a stop behind an abbreviation, an
initial or an item's number does not. Lines that a paragraph was wrapped over are joined by whoever knows that they were
(`library/extract.py`).
"""

from __future__ import annotations

import re

#: What a list's item begins with.
BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")

_END = re.compile(r"(?:(?<=[.!?…])[\"'”’)\]]*\s|(?<=[。！？])[」』”’）]*|\n)\s*")
#: Stops that never end a sentence: titles, initials, numbers of items.
_WITHIN = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|cf|ca|e\.g|i\.e|approx|incl|resp|fig|[a-hj-z]|(?<=\.)i)|^\s*\d{1,3})\.$",
    re.IGNORECASE,
)
#: Stops that end a sentence only before a capital letter: "Acme Inc. is", "3 Dec. 2025", "and so on ... until".
_PERHAPS = re.compile(
    r"(?:\b(?:etc|inc|ltd|co|jr|sr|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.|str\.|\.\.|…)$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\b(?:no|nos|nr|pp?)\.$", re.IGNORECASE)
#: No abbreviation is longer.
_BEHIND = 12


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order: with their marks, without bullets, blanks folded."""
    pieces: list[str] = []
    start = 0
    for end in _END.finditer(text):
        if end.start() > start and "\n" not in end.group() and _goes_on(text, start, end):
            continue
        pieces.append(text[start : end.start()] + end.group().rstrip())
        start = end.end()
    pieces.append(text[start:])
    folded = (" ".join(BULLET.sub("", piece).split()) for piece in pieces)
    return [sentence for sentence in folded if any(sign.isalnum() for sign in sentence)]


def _goes_on(text: str, start: int, end: re.Match[str]) -> bool:
    """Whether the stop in front of `end` belongs to a word of the sentence that began at `start`."""
    before = text[max(start, end.start() - _BEHIND) : end.start()]
    following = text[end.end() : end.end() + 1]
    if _WITHIN.search(before):
        return True
    return (_PERHAPS.search(before) is not None and not following.isupper()) or (
        following.isdigit() and _NUMBERED.search(before) is not None
    )
