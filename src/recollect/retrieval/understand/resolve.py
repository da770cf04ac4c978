"""What the mentions of a question mean: first person, exact, alias, fuzzy, pronoun, domain database, else new.

`read_mentions` finds what may be meant without looking anything up; one statement (storage/entities.py) then brings
every entity that could be, of the scopes the caller sees; `resolve_entity` decides. Two that are equally likely are
both kept, and said so.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rapidfuzz import fuzz

from recollect.domain.names import Name, alias_key, entity_key, lookup_keys
from recollect.domain.query import Resolution, ResolvedEntity
from recollect.storage import entities as storage
from recollect.storage.store import Row, Transaction
from recollect.text.names import find_names
from recollect.text.terms import STOP_WORDS
from recollect.text.word_lists import ORGANISATION_WORDS, is_common

#: Below this two names are different names (Johnson and Jonson 0.92, Maria and Marian 0.91, Anna and Hanna 0.89).
FUZZY_THRESHOLD = 0.86
#: Closer than this, nobody could tell which was meant.
AMBIGUITY_MARGIN = 0.08
#: How sure a look-up is that is no whole name: a short form, and a name of which only a part was said.
_ALIAS, _PART = 0.95, 0.88
_PRONOUN = 0.6
#: A part that so many names share tells nothing.
_MAX_RIVALS = 5
#: Mentions of one question; a pasted document has more, and is found by its words.
MAX_MENTIONS = 16
_READ_CHARS = 4_000
_READ_WORDS = 48
#: Without a session, what was asked longer ago than this is another conversation.
_MEMORY_OF_PRONOUNS = timedelta(minutes=30)

FindInDomain = Callable[[str], Awaitable[ResolvedEntity | None]]

_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself)\b", re.IGNORECASE)
_PRONOUNS = re.compile(
    r"\b(?P<person>he|him|his|she|her|hers)\b|\b(?P<thing>it|its)\b|\b(?P<any>they|them|their|theirs)\b"
    r"|\b(?:that|this|the same|said) (?P<kind>customer|client|company|supplier|vendor|person|project|team|product|order"
    r"|invoice|ticket|account|employee|colleague|user)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w@#+:.'’&-]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """What a question may name: names, lower-case phrases (key -> as written), a pronoun, the asker."""

    names: Sequence[Name]
    phrases: Mapping[str, str]
    pronoun: str | None = None
    pronoun_kind: str = ""
    first_person: str | None = None


@dataclass(slots=True, kw_only=True)
class _Candidate:
    entity: str
    name: str
    kind: str
    score: float
    method: Resolution
    #: Declared, or a row of the domain database: what other names of the same thing stand for.
    firm: bool = False
    #: Whether an entity is called so, and not only a short form of one.
    named: bool = True


def read_mentions(query: str) -> Mentions:
    """What a question names, as far as its words tell."""
    text = query[:_READ_CHARS]
    names = find_names(text)[:MAX_MENTIONS]
    taken = {word for name in names for word in entity_key(name.text).split()}
    pronoun = None if names else _PRONOUNS.search(text)
    first = _FIRST_PERSON.search(text)
    return Mentions(
        names=names,
        phrases=_phrases(text, taken),
        pronoun=pronoun.group() if pronoun else None,
        pronoun_kind=_pronoun_kind(pronoun),
        first_person=first.group() if first else None,
    )


def _pronoun_kind(match: re.Match[str] | None) -> str:
    if match is None:
        return ""
    return (match["kind"] or match.lastgroup or "").lower()


def _phrases(text: str, taken: set[str]) -> dict[str, str]:
    """Phrases of up to three words that may be names in lower case: people type them so."""
    words = [word.strip(".:'’&-") for word in _WORD.findall(text)[:_READ_WORDS]]
    folded = [entity_key(word) if word else "" for word in words]
    usable = [bool(key) and key not in STOP_WORDS for key in folded]
    found: dict[str, str] = {}
    for start in range(len(words)):
        if not usable[start]:
            continue
        for size in (3, 2, 1):
            end = start + size
            if end > len(words) or not usable[end - 1] or not taken.isdisjoint(folded[start:end]):
                continue
            found.setdefault(" ".join(folded[start:end]), " ".join(words[start:end]))
    for run in _UNSPACED.findall(text)[:8]:
        piece = run[:32]
        for start in range(len(piece)):
            for end in range(start + 2, min(start + 7, len(piece) + 1)):
                found.setdefault(entity_key(piece[start:end]), piece[start:end])
    return found


async def extract_query_entities(
    tx: Transaction,
    mentions: Mentions,
    *,
    now: datetime,
    session: str | None = None,
    find_in_domain: FindInDomain | None = None,
    needs_rows: bool = False,
) -> tuple[list[ResolvedEntity], list[str]]:
    """The entities a question names, and notes about what is ambiguous.

    `find_in_domain` is asked for names nobody knows, and with `needs_rows` for those no row is known of.
    """
    rows = await storage.find_entities(tx, _wanted(mentions, now=now, session=session))
    resolved = _first_person(tx, mentions)
    for name in mentions.names:
        found = resolve_entity(name, rows)
        if find_in_domain is not None and (
            found.method is Resolution.NEW or (needs_rows and ":" not in found.canonical_id)
        ):
            found = await _from_domain(tx, found, find_in_domain)
        resolved.append(found)
    resolved += _lower_case(mentions, rows)
    named = [entity for entity in resolved if entity.method is not Resolution.FIRST_PERSON]
    if mentions.pronoun and not named:
        resolved += _referred(mentions, rows, asker=entity_key(tx.context.user_id or ""))
    distinct = list({entity.canonical_id: entity for entity in reversed(resolved)}.values())[::-1]
    return distinct, [note for entity in distinct if (note := _ambiguity(entity, rows))]


def _wanted(mentions: Mentions, *, now: datetime, session: str | None) -> storage.Wanted:
    names: dict[str, None] = {}
    keys: dict[tuple[str, str], None] = {}
    for name in mentions.names:
        key = entity_key(name.text)
        short = alias_key(key)
        names |= dict.fromkeys((key, short))
        keys |= dict.fromkeys([("alias", key), ("alias", short), *_loosely(short)])
    for key in mentions.phrases:
        names[key] = None
        keys["alias", key] = None
    return storage.Wanted(
        names=list(names),
        keys=list(keys),
        session=session or "",
        refers_back=mentions.pronoun is not None,
        since=now - (_MEMORY_OF_PRONOUNS if not session else timedelta(days=1)),
    )


def _loosely(short: str) -> list[tuple[str, str]]:
    """By which keys a longer or misspelt form is found; a single word may also be a part of a longer name."""
    found = [(kind, key) for kind, key in lookup_keys(short) if kind != "alias"]
    if " " not in short and short.isalpha() and len(short) > 2:
        found.append(("word", short))
    return found


def resolve_entity(name: Name, rows: Sequence[Row]) -> ResolvedEntity:
    """What one name means, given everything that was found for the question's keys."""
    key = entity_key(name.text)
    candidates = _candidates(key, rows)
    best = max(candidates, key=lambda c: (c.score, c.firm, c.named, -len(c.entity)), default=None)
    if best is None or best.score < FUZZY_THRESHOLD:
        return _new(name, key)
    near = [c for c in candidates if c is not best and c.score >= best.score - AMBIGUITY_MARGIN]
    same = [c for c in near if _is_same(c, best)]
    if best.firm:
        also = [c.entity for c in same]
    else:
        # A row of the domain database, or what was declared, stands for the names that texts use.
        firm = next((c for c in same if c.firm), None)
        if firm is not None:
            same = [best, *(c for c in same if c is not firm)]
            best = firm
        also = [c.entity for c in same]
    rivals = [c for c in near if c is not best and not any(c is s for s in same)]
    rivals = sorted((c for c in rivals if c.score >= FUZZY_THRESHOLD), key=lambda c: (-c.score, c.entity))
    if best.score <= _PART and len(rivals) > _MAX_RIVALS:
        return _new(name, key)
    if key not in also and best.entity != key and any(c.entity == key for c in candidates):
        also.append(key)
    return ResolvedEntity(
        mention_text=name.text,
        canonical_id=best.entity,
        name=best.name,
        kind=best.kind if best.kind not in {"name", "speaker"} else name.kind,
        confidence=round(best.score if not rivals else best.score / (1 + len(rivals)), 3),
        method=best.method,
        rivals=tuple(c.entity for c in rivals[:_MAX_RIVALS]),
        also=tuple(dict.fromkeys(also)),
    )


def _new(name: Name, key: str) -> ResolvedEntity:
    short = alias_key(key)
    return ResolvedEntity(
        mention_text=name.text,
        canonical_id=key,
        name=name.text,
        kind=name.kind,
        confidence=0.3,
        method=Resolution.NEW,
        also=(short,) if short != key else (),
    )


def _candidates(key: str, rows: Sequence[Row]) -> list[_Candidate]:
    """Every entity a name may mean, each with its best score."""
    short = alias_key(key)
    best: dict[str, _Candidate] = {}
    loose = {pair[1] for pair in _loosely(short)}
    for row in rows:
        score, method = _score(key, short, loose, row)
        if score <= 0:
            continue
        entity = row["entity"]
        if entity not in best or best[entity].score < score:
            best[entity] = _Candidate(
                entity=entity,
                name=row["name"] or entity,
                kind=row["kind"] or "name",
                score=score,
                method=method,
                firm=row["source"] in {"declared", "domain"},
                named=row["name"] is not None,
            )
    return list(best.values())


def _score(key: str, short: str, loose: set[str], row: Row) -> tuple[float, Resolution]:
    entity, via = row["entity"], row["via"]
    if via == "exact":
        if entity == key:
            # Filed under this name, but as the short form of a longer one: no entity is called so.
            return (1.0, Resolution.EXACT) if row["name"] is not None else (_ALIAS, Resolution.ALIAS)
        return (_ALIAS, Resolution.ALIAS) if entity == short else (0.0, Resolution.NEW)
    if via == "alias":
        if row["key"] not in (key, short) or row["name"] is None:
            return 0.0, Resolution.NEW
        sure = 1.0 if row["origin"] == "declared" or row["source"] == "domain" else _ALIAS
        return min(sure, float(row["confidence"])), Resolution.ALIAS
    if row["name"] is None or not (
        (via in {"word", "start", "end"} and row["key"] in loose)
        or (via == "prefix" and entity.startswith(tuple(loose)))
    ):
        return 0.0, Resolution.NEW
    return _likeness(short, alias_key(entity)), Resolution.FUZZY


def _likeness(asked: str, known: str) -> float:
    """How alike two names are: 1 for the same, the threshold for a slip of the pen, a bit more for a part of a name."""
    if asked == known:
        return _ALIAS
    mine, theirs = asked.split(), known.split()
    if _digits(asked) != _digits(known):
        return 0.0
    if len(mine) < len(theirs) and set(mine) <= set(theirs):
        return _PART
    if len(mine) == len(theirs) and mine[-1] == theirs[-1] and all(map(_initial_of, mine, theirs)):
        return _PART
    if len(mine) != len(theirs) and not set(mine) & set(theirs):
        return 0.0
    return fuzz.ratio(asked, known) / 100


def _initial_of(mine: str, theirs: str) -> bool:
    return mine == theirs or (len(mine) == 1 and theirs.startswith(mine))


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit())


def _is_same(one: _Candidate, other: _Candidate) -> bool:
    """Whether two candidates are two names of one thing rather than two things."""
    if one.firm and other.firm and ":" in one.entity and ":" in other.entity:
        return False
    if min(one.score, other.score) < _ALIAS or Resolution.FUZZY in (one.method, other.method):
        return False
    return one.firm != other.firm or alias_key(one.entity) == alias_key(other.entity)


def _lower_case(mentions: Mentions, rows: Sequence[Row]) -> list[ResolvedEntity]:
    """Names typed in lower case: whole names and aliases that are known; a part or a slip would be guessing."""
    entities: list[ResolvedEntity] = []
    covered: set[str] = set()
    for key, written in sorted(mentions.phrases.items(), key=lambda item: -item[0].count(" ")):
        if not covered.isdisjoint(key.split()):
            continue
        hits = [row for row in rows if row["via"] in {"exact", "alias"} and row["key"] == key and row["name"]]
        firm = any(row["source"] in {"declared", "domain"} or row["origin"] == "declared" for row in hits)
        if not hits or not (firm or _is_telling(key)):
            continue
        resolved = resolve_entity(Name(written, "name"), hits)
        if resolved.method is Resolution.NEW:
            continue
        entities.append(replace(resolved, confidence=round(resolved.confidence * (1.0 if firm else 0.9), 3)))
        covered |= set(key.split())
    return entities


def _is_telling(key: str) -> bool:
    """Whether a phrase in lower case can be taken for a name that texts have used."""
    words = key.split()
    if len(words) > 1:
        return not all(is_common(word) for word in words)
    return len(key) > 2 and not is_common(key) and key not in ORGANISATION_WORDS


def _first_person(tx: Transaction, mentions: Mentions) -> list[ResolvedEntity]:
    user = tx.context.user_id
    if mentions.first_person is None or user is None:
        return []
    return [
        ResolvedEntity(
            mention_text=mentions.first_person,
            canonical_id=entity_key(user),
            name=user,
            kind="person",
            confidence=1.0,
            method=Resolution.FIRST_PERSON,
        )
    ]


#: What a pronoun or a kind can't stand for.
_NOT_PERSONS = frozenset(
    {"organisation", "id", "product", "project", "team", "title", "place", "host", "version"}
)
_ORGANISATIONS = frozenset({"customer", "client", "company", "supplier", "vendor", "account"})


def _referred(mentions: Mentions, rows: Sequence[Row], *, asker: str) -> list[ResolvedEntity]:
    """What a pronoun stands for: the entity of the latest search of this session that it can stand for."""
    recent = sorted((row for row in rows if row["via"] == "recent"), key=lambda row: row["place"])
    for row in recent:
        kind = row["kind"] or "name"
        # Searches in the first person were about the asker, too, who is not "they".
        if (
            row["name"] is None
            or row["entity"] == asker
            or not _can_be(mentions.pronoun_kind, kind, row["entity"])
        ):
            continue
        return [
            ResolvedEntity(
                mention_text=mentions.pronoun or "",
                canonical_id=row["entity"],
                name=row["name"],
                kind=kind,
                confidence=_PRONOUN,
                method=Resolution.PRONOUN,
            )
        ]
    return []


def _can_be(pronoun: str, kind: str, entity: str) -> bool:
    if pronoun == "person":
        return kind not in _NOT_PERSONS and not entity.startswith(tuple(f"{k}:" for k in _ORGANISATIONS))
    if pronoun == "thing":
        return kind not in {"person", "speaker"}
    if pronoun in {"", "any"} or kind in {"name", "declared", pronoun} or entity.startswith(f"{pronoun}:"):
        return True
    return pronoun in _ORGANISATIONS and kind == "organisation"


async def _from_domain(
    tx: Transaction, known: ResolvedEntity, find_in_domain: FindInDomain
) -> ResolvedEntity:
    """The row of the domain database that a name means; kept, so that the next question finds it here."""
    found = await find_in_domain(known.mention_text)
    if found is None:
        return known
    if not found.rivals:
        await storage.adopt_domain_entity(
            tx,
            canonical_id=found.canonical_id,
            name=found.name,
            kind=found.kind,
            mention=known.mention_text,
        )
    key = entity_key(known.mention_text)
    also = dict.fromkeys([known.canonical_id, *known.also, key, entity_key(found.name)])
    return replace(
        found,
        mention_text=known.mention_text,
        method=Resolution.DOMAIN,
        also=tuple(name for name in also if name != found.canonical_id),
    )


def _ambiguity(entity: ResolvedEntity, rows: Sequence[Row]) -> str | None:
    if not entity.rivals:
        return None
    names = {row["entity"]: row["name"] for row in rows if row["name"]}
    shown = [f"{entity.name} ({entity.canonical_id})", *(f"{names.get(r, r)} ({r})" for r in entity.rivals)]
    plain = [entity.name, *(names.get(r, r) for r in entity.rivals)]
    # Two of the same name are told apart by their ids.
    listed = plain if len(set(plain)) == len(plain) else shown
    return f"ambiguous: {entity.mention_text!r} may be {', '.join(listed[:-1])} or {listed[-1]}"
