"""Shapes of words and texts that tell names from other words. Pure; used by names.py."""

from __future__ import annotations

from functools import lru_cache

from recollect.text.word_lists import (
    ORGANISATION_WORDS,
    PERSON_WORDS,
    PLACE_WORDS,
    ROMAN,
    is_common,
)

#: Longer words are data, not words.
MAX_WORD_CHARS = 100
#: Signs around a word.
LEADING = "([{<\"'“‘«„*~`¿¡•-–—>|"
TRAILING = "-.,;:!?)]}>\"'”’»“*~`…|"


def kind_of(folded: list[str]) -> str:
    """What kind of thing a name of several words seems to be."""
    if folded[0] == "project":
        return "project"
    if folded[-1] == "team":
        return "team"
    if folded[-1] in ORGANISATION_WORDS or (folded[0] in ORGANISATION_WORDS and "of" in folded):
        return "organisation"
    if folded[-1] in PLACE_WORDS or folded[0] in {"lake", "mount", "river", "fort"}:
        return "place"
    if folded[0] in PERSON_WORDS or folded[-1] in {"jr", "sr"} or folded[-1] in ROMAN:
        return "person"
    if any(len(word) == 1 and word.isalpha() for word in folded[:-1]):
        return "person"
    return "name"


@lru_cache(maxsize=4096)
def has_inner_capital(word: str) -> bool:
    """iPhone, GitHub, NASA, A320: more than a capital at the front."""
    return any(letter.isupper() for letter in word[1:])


def without_possessive(word: str) -> tuple[str, bool]:
    """A word without its 's, and whether it had one."""
    for ending in ("'s", "’s"):
        if word.endswith(ending) and len(word) > 3:
            return word[:-2], True
    return word, False


def spaced(line: str) -> str:
    """Dashes, and slashes between words, stand between names; addresses and AC/DC stay whole."""
    line = line.replace("—", " — ").replace("–", " – ")
    if "/" not in line:
        return line
    parts = []
    for chunk in line.split():
        short = all(len(part) <= 3 for part in chunk.split("/"))
        parts.append(
            chunk if short or "://" in chunk or len(chunk) > MAX_WORD_CHARS else chunk.replace("/", " , ")
        )
    return " ".join(parts)


def is_shouted(text: str) -> bool:
    """Whether nearly everything is in capitals, so that they tell nothing."""
    sample = text[:2_000]
    upper = sum(letter.isupper() for letter in sample)
    return upper > 20 and upper > 2 * sum(letter.islower() for letter in sample)


def is_title(text: str) -> bool:
    """Whether what stands in quotes is a title rather than speech: mostly capitals, no end of a sentence."""
    words = text.split()
    if not words or len(words) > 10 or text.rstrip()[-1:] in {",", "."}:
        return False
    if not (words[0][0].isupper() or words[0][0].isdigit()):
        return False
    weighty = [word for word in words if len(word) > 3 and word[0].isalpha()] or words
    capitals = sum(not word[0].islower() for word in weighty)
    if capitals >= 0.6 * len(weighty):
        return len(words) > 1 or not is_common(words[0].lower())
    # Titles in other languages have one capital; speech in English has English words.
    return len(words) <= 6 and sum(is_common(word.lower().strip(TRAILING)) for word in words) * 2 < len(words)
