"""How names are compared: one way to fold them, for callers, texts and questions alike; and `Entity`, what they name.

`entity_key` is the identity of a name; `alias_key` is what people call the same thing for short; `lookup_keys` are
the equalities by which a longer or a misspelt form still finds it. Finding names in a text is
`text/names.py`; keeping them is `storage/entities.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

#: Keys are parts of B-tree entries, which hold about 2,700 bytes.
MAX_KEY_CHARS = 200

_MARKS = re.compile("[\u0300-\u036f]")
_CANONICAL = re.compile(r"[^\W\d_][\w-]*:[^\s:]+")
_POSSESSIVE = re.compile(r"(?<=\w)['’`]s(?!\w)|(?<=s)['’](?!\w)")
_DOTTED = re.compile(r"(?<![^\W_])(?:[^\W\d_]\.){2,}(?:[^\W\d_](?!\w))?")
# What stays of punctuation: dots and colons inside (acme.com, 3.11), C++ and C#, @handles and #channels.
_DROPPED = re.compile(
    r"(?<!\w)[.:]|[.:](?!\w)|(?<![\w+])\+|(?<![^\W\d_])#(?![^\W\d_])|@(?!\w)|[^\w\s.:+#@]", re.UNICODE
)
_SUFFIXES = frozenset(
    """
    inc incorporated corp corporation company co ltd limited llc llp lp plc gmbh ag kg kgaa ug se sa sas sarl srl spa bv
    nv oy oyj ab as asa aps kk pty holdings holding group ooo
    """.split()
)
_HONORIFICS = frozenset("mr mrs ms miss mx dr prof professor sir madam".split())
_LEADING = _HONORIFICS | {"project", "team", "the"}
_TRAILING = _SUFFIXES | {"project", "team", "squad", "department", "division"}
_SMALL = frozenset("of the and for de la le du da di del van von der den al el y a an in on at to &".split())


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it was written, and what kind of thing it seems to be ("name" when nothing tells)."""

    text: str
    kind: str


def folded(name: str) -> str:
    """A name without case and accents: "Graça" and "graca" are the same."""
    if not name.isascii():
        name = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", name)))
    return name.casefold().strip()


@lru_cache(maxsize=65_536)
def entity_key(name: str) -> str:
    """A name folded for comparison: case, accents, possessive, a leading "the", punctuation.

    An identifier such as `customer:a1b2` stays whole.
    """
    text = folded(name)
    if _CANONICAL.fullmatch(text):
        return text[:MAX_KEY_CHARS]
    text = _POSSESSIVE.sub("", text).replace("&", " and ")
    text = _DOTTED.sub(lambda m: m.group().replace(".", "") + " ", text)
    words = _DROPPED.sub(" ", text).split()
    if len(words) > 1 and words[0] == "the":
        del words[0]
    # A name of signs alone, such as an emoji, is compared as it stands.
    return (" ".join(words) or " ".join(name.casefold().split()))[:MAX_KEY_CHARS].strip()


def alias_key(key: str) -> str:
    """What an entity is called for short: without "Corporation", "Dr." or "project"; the key itself if nothing else."""
    words = key.split()
    first, last = 0, len(words)
    while last - first > 1 and words[last - 1] in _TRAILING:
        last -= 1
    while last - first > 1 and words[first] in _LEADING:
        first += 1
    # "Marks and Co" must not become "marks and".
    while last - first > 1 and words[last - 1] in _SMALL:
        last -= 1
    short = " ".join(words[first:last])
    return short if len(short) > 1 else key


def lookup_keys(key: str) -> list[tuple[str, str]]:
    """The (kind, key) pairs under which an entity is found by other forms of its name.

    alias: its short form. word: each word of a longer name. start and end: what a misspelt form still shares, which
    is a few letters of a single word, or all but one word of several ("john s", "j smith": initials, too).
    """
    short = alias_key(key)
    keys = [("alias", short)] if short != key else []
    words = [word for word in short.split() if word not in _SMALL]
    # Another digit is another number, not a slip: ids, addresses and versions are found by equality alone.
    if not words or not all(word.isalpha() for word in words):
        return keys
    if len(words) > 1:
        keys += [("word", word) for word in dict.fromkeys(words) if len(word) > 1]
        keys += [
            ("start", " ".join([*words[:-1], words[-1][0]])),
            ("end", " ".join([words[0][0], *words[1:]])),
        ]
    elif len(words[0]) > 3:
        size = 4 if len(words[0]) > 5 else 3
        keys += [("start", words[0][:size]), ("end", words[0][-size:])]
    return keys


def stored_keys(key: str) -> list[tuple[str, str]]:
    """Those of an entity's look-up keys that its own key does not begin with: the others are found by prefix."""
    return [
        (kind, part)
        for kind, part in lookup_keys(key)
        if not (kind == "start" and key.startswith(part))
        and not (kind == "word" and key.startswith(f"{part} "))
    ]


def prefixes(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """What the keys of entities begin with that some (kind, key) pairs look for."""
    return [f"{key} " if kind == "word" else key for kind, key in pairs if kind in {"start", "word"}]


def mention_keys(name: str) -> list[str]:
    """All keys under which a memory that names something is filed: so that "Acme" leads to Acme Corporation.

    Beside the whole, the short form, and the part before a comma or a parenthesis ("Santa Monica, California").
    """
    key = entity_key(name)
    keys = [key, alias_key(key)]
    cut = min((name.find(sign) for sign in (", ", " (") if name.find(sign) > 1), default=0)
    if cut:
        keys.append(entity_key(name[:cut]))
    return list(dict.fromkeys(keys))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Something named.

    `key` identifies it: its folded name, or a row of the domain database such as "customer:a1b2" (then `canonical`
    says so, too). `source`: found in a text, given by a caller, declared, or from the domain database. `memories`
    counts the visible ones that name it.
    """

    key: str
    name: str
    kind: str
    source: str
    canonical: str | None = None
    aliases: tuple[str, ...] = ()
    memories: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Two entities, by their keys, that `memories` memories name together."""

    source: str
    target: str
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityGraph:
    """Entities that the caller sees and how they hang together, those that most memories name first.

    `centre` is the key of the one whose surroundings were asked for.
    """

    entities: tuple[Entity, ...]
    links: tuple[Link, ...]
    centre: str | None = None
