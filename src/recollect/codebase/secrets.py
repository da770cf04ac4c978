"""Masking secrets that stand in source files, before they go into a record or to a model.

Known forms of keys, private key blocks, passwords in addresses, and quoted values given to names like `password`. A
name alone is no secret: `password = read_password()` stays. What is hidden is `***`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"

#: Whole secrets, known by how they begin.
_KEYS = re.compile(
    r"""
    \bsk-[A-Za-z0-9_-]{16,}                             # OpenAI, Anthropic
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                     # AWS access keys
    | \bgh[pousr]_[A-Za-z0-9]{20,}                      # GitHub
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_-]{16,}                        # GitLab
    | \bxox[abposr]-[A-Za-z0-9-]{10,}                   # Slack
    | \bAIza[0-9A-Za-z_-]{30,}                          # Google
    | \b[rs]k_(?:live|test)_[0-9A-Za-z]{16,}            # Stripe
    | \bnpm_[A-Za-z0-9]{30,}
    | \bpypi-[A-Za-z0-9_-]{30,}
    | \bhf_[A-Za-z0-9]{30,}
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}   # JSON web tokens
    """,
    re.VERBOSE,
)
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_URL_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>{}]{0,100}):([^\s/@'\"<>{}]{1,200})@")
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)([A-Za-z0-9+/._~-]{16,}=*)")
#: A name that says what it holds, then a quoted value; or an unquoted value, as environment files have it.
_NAMED = re.compile(
    r"""(?ix)
    (?P<name>[a-z0-9_.-]{0,40}(?:passw(?:or)?d|passphrase|secret|api_?-?key|access_?-?key|auth_?-?token|private_?-?key)
        [a-z0-9_-]{0,20}["']?\s{0,4}(?::|=>|=|:=)\s{0,4})
    (?:(?P<quote>["'])(?P<value>[^"'\n]{6,200})(?P=quote)|(?P<bare>(?m:(?<=[A-Z]=)[^\s"'$(){}<>,;]{8,200}$)))
    """
)
#: A value that holds the place of a secret.
_PLACEHOLDER = re.compile(
    r"(?i)^(?:[<{$%\[(].*|\*+|x+|\.+|your[-_ ].*|change[-_ ]?me.*|example.*|none|null|true|false)$"
)


#: In lower case: a text with none of these has no secret that is known here. Most texts have none, and looking for
#: words is a hundred times faster than the patterns.
_SIGNS = (
    "sk-", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "aiza", "k_live_",
    "k_test_", "npm_", "pypi-", "hf_", "eyj", "private key", "://", "bearer", "basic", "passw", "passphrase",
    "secret", "key", "token",
)  # fmt: skip


def mask(text: str) -> str:
    """The text with what looks like a secret replaced."""
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return text
    masked = _PRIVATE_KEY.sub(lambda match: f"{match[1]}\n{HIDDEN}\n{match[2]}", text)
    masked = _KEYS.sub(HIDDEN, masked)
    masked = _URL_PASSWORD.sub(rf"\1:{HIDDEN}@", masked)
    masked = _BEARER.sub(rf"\1\2{HIDDEN}", masked)
    return _NAMED.sub(_hide_value, masked)


def _hide_value(match: re.Match[str]) -> str:
    value = match["value"] or match["bare"] or ""
    if _PLACEHOLDER.match(value) or " " in value.strip():
        return match[0]
    quote = match["quote"] or ""
    return f"{match['name']}{quote}{HIDDEN}{quote}"


def mask_values(value: Any) -> Any:
    """JSON with every text in it masked, keys included.

    A citation keeps its place, and loses a quote with a secret in it: the hash of the lines still proves them.
    """
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        if "content_hash" in value and "quote" in value:
            quote = str(value["quote"])
            return {**value, "quote": quote if mask(quote) == quote else ""}
        return {mask(str(name)): mask_values(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [mask_values(part) for part in value]
    return value
