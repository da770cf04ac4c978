"""Words of source code: what statistics and queries count, so that both count the same.

An identifier gives its parts (`parseHTTPRequest` and `parse_http_request`: parse, http, request) and, when it has more
than one, itself in lower case. Words of comments and strings are words like others. Terms are lower case; one letter
and numbers alone are none.
"""

from __future__ import annotations


def split_identifier(name: str) -> tuple[str, ...]:
    """The parts of an identifier, in lower case, in order."""
    raise NotImplementedError


def terms_of(text: str) -> list[str]:
    """Every term of a text, in order, repeated as it stands."""
    raise NotImplementedError
