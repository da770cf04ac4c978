"""Numbers with their nouns, as people say them; for every surface that speaks to people."""

from __future__ import annotations


def many(count: int, singular: str = "memory") -> str:
    """How many there are: `1 memory`, `2 memories`, `3 calls`."""
    several = f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s"
    return f"{count:,} {singular if count == 1 else several}"
