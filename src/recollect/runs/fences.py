"""What models are told, and fences around text that is data: what stands between them is never an instruction.

A fence is a pair of lines with a word that nobody can guess, new for every run, so that no text can close it. The word
is named in the first line of a message, never in the instructions: these stay the same, so that a server can keep them.
A text that holds the word all the same has read a request; the word is taken out of it.
"""

from __future__ import annotations

import secrets
from functools import cache
from importlib import resources


def new_boundary() -> str:
    """A word of 64 random bits."""
    return f"data-{secrets.token_hex(8)}"


def preface(boundary: str) -> str:
    """The first line of a message: it names the word."""
    return f"The boundary word of this message is `{boundary}`."


def fence(name: str, text: str, boundary: str) -> str:
    """The text between its two lines."""
    return f"--- {boundary} {name} begins\n{text.replace(boundary, '…')}\n--- {boundary} {name} ends"


@cache
def read_prompt(package: str, name: str) -> str:
    """Instructions that stand in a file of a package, such as `prompts/plan.md`."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
