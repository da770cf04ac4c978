"""Words of source code: what statistics and queries count, so that both count the same.

An identifier gives its parts (`parseHTTPRequest` and `parse_http_request`: parse, http, request) and, when it has more
than one, itself in lower case. Words of comments and strings are words like others. Terms are lower case; one letter
and numbers alone are none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

#: What counts as an identifier or a word: two characters or more.
IDENTIFIER = re.compile(r"[^\W\d]\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LETTERS = re.compile(r"[^\W\d_]+")
#: Longer "words" are keys, hashes and packed data.
_MAX_CHARS = 80


def split_identifier(name: str) -> tuple[str, ...]:
    """The parts of an identifier, in lower case, in order; numbers and single letters are no parts."""
    parts = _PART.findall(name) if name.isascii() else _wide_parts(name)
    return tuple(part.lower() for part in parts if len(part) > 1 and not part.isdigit())


def _wide_parts(name: str) -> list[str]:
    """The parts of an identifier with letters beyond ASCII, which expressions do not tell upper from lower in."""
    parts = []
    for word in _LETTERS.findall(name):
        begin = 0
        for place in range(1, len(word)):
            after_lower = not word[place - 1].isupper()
            before_lower = word[place + 1 : place + 2].islower()
            if word[place].isupper() and (after_lower or before_lower):
                parts.append(word[begin:place])
                begin = place
        parts.append(word[begin:])
    return parts


@lru_cache(maxsize=100_000)
def identifier_terms(name: str) -> tuple[str, ...]:
    """The terms one identifier stands for: its parts, and itself when that is another term."""
    if len(name) > _MAX_CHARS:
        return ()
    parts = split_identifier(name)
    whole = name.strip("_").lower()
    if len(whole) < 2 or parts == (whole,):
        return parts
    return (*parts, whole)


def terms_of(text: str) -> list[str]:
    """Every term of a text, in order, repeated as it stands."""
    return [term for word in IDENTIFIER.findall(text) for term in identifier_terms(word)]


def term_key(term: str) -> int:
    """The number a term or name is kept under: 64 bits of its hash, so that no list of words has to be kept."""
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=8).digest(), "little")
