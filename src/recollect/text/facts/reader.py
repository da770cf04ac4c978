"""Facts from sentences, by rule.

screen -> split into clauses -> match a pattern -> check subject and value. A clause that fits no pattern, or whose
value does not look right, gives nothing: better no fact than a wrong fact. Dates are resolved against the time of the
text. Pure; what a new fact does to older ones is decided in relation.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from recollect.text.facts import patterns as p
from recollect.text.facts.predicates import (
    NEW_WORDS,
    OTHER_TIMES,
    Kind,
    is_attribute,
    is_certain,
    is_named,
    read_predicate,
    read_subject,
    subject_key,
)
from recollect.text.facts.screen import Clean, clean, why_no_fact
from recollect.text.facts.statement import Reading, Skipped, Statement, period_in
from recollect.text.facts.values import (
    DIETS,
    MARITAL,
    STATES,
    has_form,
    is_calendar,
    is_clock,
    is_description,
)
from recollect.text.sentences import split_sentences

#: Objects longer than this are descriptions.
MAX_OBJECT_CHARS = 80
#: Beside something else: a second job, a second home.
_PART_TIME = re.compile(
    r"\b(?:on \w+days?|part[- ]time|half|every|evenings?|freelance|in (?:the )?(?:spring|summer|autumn|fall|winter))\b"
)
_ARTICLE = re.compile(r"(?:a|an|the|to)\b", re.I)
#: Attributes that are themselves somewhere.
_SOMEWHERE = frozenset({"desk", "headquarters", "hq", "seat", "room", "office"})

#: A fact is short; texts with more sentences than this are read by a model or not at all.
MAX_SENTENCES = 200

_CLAUSES = re.compile(
    r"(?:,\s*|\s+)(?:and|but|then|and then)\s+(?=(?:now |also |no longer )?(?:lives?|works?|moved|joined|uses?|likes?|"
    r"speaks?|plays?|owns?|reports?|studies|drives|is|am|are|has|have|started|stopped|drinks?|eats?|I|we|my|our|he|she|"
    r"they)\b|[A-Z][\w'-]+ (?:is|has|lives|works|likes|loves|hates|plays)\b)"
)
#: Where a sentence begins anew with whose it is: "Karen left, so Mike is my boss", "..., I live in Leeds".
_ANEW = re.compile(r",\s+so\s+|,\s+(?=(?:my|our)\b|I (?:work|live)\b)")
_OWN_SUBJECT = re.compile(r"(?:I|we|my|our|he|she|they|[A-Z][\w'-]+)\b")
#: "with my sister Mia", "Hi, I'm Dana": who somebody is, said in passing. A relative at the beginning is whom the
#: sentence is about.
_KIN = re.compile(
    r"(?<=\w) my (?P<kin>sister|brother|wife|husband|son|daughter|mother|father|mum|mom|dad|partner|girlfriend|"
    r"boyfriend) (?P<name>[A-Z][a-z]+)\b"
)
_GREETED = re.compile(r"(?i:hi|hello|hey)\b[^.!?]{0,16}[.!]")
_GREETING = re.compile(
    r"^(?i:hi|hello|hey)\b[^.!?]{0,16}? I(?:'m| am) (?P<name>[A-Z][a-z]+)(?=[.,!]|$| and\b)"
)
_WORKS_AS = re.compile(
    r"^(?P<s>[^,;:]{1,80}?) works? as (?P<role>an? [^,;:]{2,40}?)(?: (?P<place>(?:at|for) \S.*))?$"
)
_SUBJECT = re.compile(
    r"^(?P<s>I|[Ww]e|(?:(?:[Tt]he|[Mm]y|[Oo]ur) )?[\w'.-]+(?: [A-Z][\w'.-]*){0,3})"
    r" (?:quit|left|lives?|works?|moved|joined|uses?|likes?|speaks?|plays?|"
    r"owns?|reports?|studies|drives|is|am|are|was|has|have)\b"
)


def read_facts(text: str, *, speaker: str | None = None, now: datetime | None = None) -> Reading:
    """Every statement of a text that a rule can read, and why the other sentences have none."""
    statements: list[Statement] = []
    skipped: list[Skipped] = []
    now = now or datetime.now(UTC)
    greeting = ""
    for sentence in split_sentences(text)[:MAX_SENTENCES]:
        reason = why_no_fact(sentence)
        if reason is None:
            cleaned = clean(sentence)
            readings = [
                s for clause in _clauses(cleaned.text) if (s := _read(clause, cleaned, sentence, speaker))
            ]
            readings += _in_passing(f"{greeting} {sentence}" if greeting else sentence, speaker)
            if readings:
                complete = len(readings) == len(list(_clauses(cleaned.text)))
                statements += [_dated(replace(s, whole=s.whole and complete), now) for s in readings]
                continue
            reason = "no simple fact in it"
        skipped.append(Skipped(sentence=sentence, reason=reason))
        greeting = sentence.strip(" .!") if _GREETED.fullmatch(sentence) else ""
    return Reading(statements=tuple(statements), skipped=tuple(skipped))


def read_fact(text: str, *, speaker: str | None = None, now: datetime | None = None) -> Statement | None:
    """The only statement a whole text makes; None when it makes none, or says more than that.

    A text that says more is not a fact's: when the fact is replaced one day, the rest must not go with it.
    """
    reading = read_facts(text, speaker=speaker, now=now)
    if reading.skipped or not reading.statements or not all(s.whole for s in reading.statements):
        return None
    *former, last = sorted(reading.statements, key=lambda s: s.is_fact)
    key = (subject_key(last.subject), read_predicate(last.predicate).key)
    if any((subject_key(s.subject), read_predicate(s.predicate).key) != key or s.is_fact for s in former):
        return None
    if former:
        return replace(last, change=True, former=last.former or former[0].object)
    return last


def _clauses(text: str) -> Iterator[str]:
    """A sentence's clauses; a clause without a subject takes that of the clause before it."""
    for half in _ANEW.split(text):
        parts = _CLAUSES.split(half)
        yield from _unfolded(parts[0])
        subject = _SUBJECT.match(parts[0])
        for part in parts[1:]:
            yield from _unfolded(
                f"{subject['s']} {part}" if subject and not _OWN_SUBJECT.match(part) else part
            )


def _unfolded(clause: str) -> Iterator[str]:
    """Two clauses of one: what somebody works as, and where."""
    work = _WORKS_AS.match(clause)
    if work is None:
        yield clause
        return
    yield f"{work['s']} is {work['role']}"
    if work["place"]:
        yield f"{work['s']} works {work['place']}"


def _in_passing(sentence: str, speaker: str | None) -> list[Statement]:
    """Who somebody is, said beside something else: a relative by name, or oneself in a greeting."""
    if speaker is None:
        return []
    pairs = [(f"has a {match['kin']} called", match["name"]) for match in _KIN.finditer(sentence)]
    pairs += [("name", match["name"]) for match in _GREETING.finditer(sentence)]
    return [
        Statement(subject=speaker, predicate=predicate, object=name, sentence=sentence, whole=False)
        for predicate, name in pairs
    ]


def _dated(statement: Statement, now: datetime) -> Statement:
    """When it is true, if the sentence says so; a date that is the value is no such date."""
    start, end = period_in(statement.sentence.replace(statement.object, " "), now=now)
    if start is None:
        return statement
    if statement.past:
        return replace(statement, valid_from=start, valid_to=end)
    # A month or a year has an end, but what began in it goes on.
    return replace(statement, valid_from=start if start <= now else None)


def _read(clause: str, cleaned: Clean, sentence: str, speaker: str | None) -> Statement | None:
    for read in (
        _ended,
        _replaced,
        _dose,
        _shifted,
        _holds,
        _reached,
        _by_verb,
        _copula,
        _has,
        _many,
        _denied,
    ):
        statement = read(clause, speaker)
        if statement is None:
            continue
        value, rest = _value(statement)
        if value is None:
            return None
        return replace(
            statement,
            object=value,
            sentence=sentence,
            whole=not rest,
            change=statement.change or cleaned.change,
            also=cleaned.also,
            former=statement.former or cleaned.former,
        )
    return None


def _value(statement: Statement) -> tuple[str | None, str]:
    """The object without when and why, and what else stands there; None when it is no value of the predicate."""
    value, rest = statement.object.strip(" ,."), ""
    form = read_predicate(statement.predicate).value
    cut = p.ADJUNCT.search(value)
    if cut and form not in {"time", "clock"}:
        tail = value[cut.start() :].strip(" ,")
        value = value[: cut.start()].strip(" ,")
        rest = tail if re.match(r"(?:where|which|who)\b", tail, re.I) else ""
    if not value or len(value) > MAX_OBJECT_CHARS or re.search(r"[;:]\s|\bor\b|\(|\)", value):
        return None, rest
    if p.IN_OBJECT.search(value) and not has_form(value, "email"):
        return None, rest
    if re.search(r"\b(?:and|but)\b", value) and read_predicate(statement.predicate).kind is Kind.SINGLE:
        return None, rest
    if re.match(r"(?:not|no|nearly|it|that|this|what|how)\b", value, re.I):
        return None, rest
    return value, rest


def _make(subject: str | None, predicate: str, object: str, **how: object) -> Statement | None:
    if subject is None:
        return None
    return Statement(subject=subject, predicate=predicate, object=object, sentence="", **how)  # type: ignore[arg-type]


def _ended(clause: str, speaker: str | None) -> Statement | None:
    """It is no longer so."""
    for pattern in (p.NO_LONGER, p.ANY_MORE, p.STOPPED):
        match = pattern.match(clause)
        if match:
            predicate = p.FORM_OF[match["v"]]
            return _make(read_subject(match["s"], speaker), predicate, match["o"], ends=True, change=True)
    match = p.LEFT_JOB.match(clause)
    if match:
        return _make(read_subject(match["s"], speaker), "works at", match["o"], ends=True, change=True)
    match = p.IS_NO_LONGER.match(clause)
    if match and (match["o"] or match["o2"]):
        return _make(
            read_subject(match["s"], speaker), "is", match["o2"] or match["o"], ends=True, change=True
        )
    return None


def _replaced(clause: str, speaker: str | None) -> Statement | None:
    """One thing took another's place."""
    match = p.SWITCHED.match(clause)
    old = match["old"] if match else None
    if not match:
        match = p.REPLACED.match(clause)
        old = (match["old"] or match["old2"]) if match else None
    if not match or not old:
        return None
    new = match["new"]
    cut = p.ADJUNCT.search(new)
    new = new[: cut.start()] if cut else new
    verb = clause[match.end("s") : match.start("new")]
    if " moved " in verb and is_named(match["s"]) and has_form(old, "name") and has_form(new, "name"):
        return _make(read_subject(match["s"], speaker), "lives in", new, change=True, former=old)
    if read_subject(match["s"], speaker) is None or is_attribute(_bare_np(match["s"])):
        return None
    return _make(read_subject(match["s"], speaker), "switched to", new, change=True, former=old)


def _dose(clause: str, speaker: str | None) -> Statement | None:
    match = p.DOSE.match(clause)
    return _make(read_subject(match["s"], speaker), f"{match['what']} dose", match["o"]) if match else None


def _shifted(clause: str, speaker: str | None) -> Statement | None:
    """A value was changed: the rate limit was raised to 250, we moved the stand-up to 9:30."""
    match = p.SHIFTED.match(clause)
    if match:
        phrase, old, new = (
            match["np"] or match["np2"],
            match["old"] or match["old2"],
            match["o"] or match["o2"],
        )
        if match["np2"] and not has_form(new, "number"):
            return None  # people go up to mountains; rents go up to figures
        return _of_phrase(phrase, new, speaker, change=True, former=old)
    match = p.SHIFTS.match(clause)
    if not match:
        return None
    if match["own"] in {"the", "my", "our"}:
        phrase = f"{match['own']} {match['np']}"
        return _of_phrase(phrase, match["o"], speaker, change=True, former=match["old"])
    if not is_attribute(match["np"]):
        return None
    subject = read_subject(match["s"], speaker)
    return _attribute(subject, match["np"], match["o"], change=True, former=match["old"])


def _holds(clause: str, speaker: str | None) -> Statement | None:
    """Somebody holds a position that has a single holder."""
    for pattern in (p.HOLDS, p.HOLDS_OWNED):
        match = pattern.match(clause)
        if match and read_predicate(match["attribute"]).value == "name":
            subject = read_subject(match["s"], speaker)
            return _attribute(subject, match["attribute"], match["o"], change=not match["is"])
    match = p.HOLDS_MINE.match(clause)
    if match and read_predicate(match["attribute"]).value == "name":
        return _of_phrase(f"{match['s']} {match['attribute']}", match["o"], speaker)
    return None


def _reached(clause: str, speaker: str | None) -> Statement | None:
    match = p.REACHED.match(clause)
    if match and match["o"].strip() in STATES:
        return _make(read_subject(match["np"], speaker), "status", match["o"], change=True)
    return None


def _by_verb(clause: str, speaker: str | None) -> Statement | None:
    for rule in p.VERB_RULES:
        match = rule.pattern.match(clause)
        if not match:
            continue
        predicate, change = rule.predicate, rule.change
        if predicate == "lives in" and change and match["s"].casefold() == "we":
            return None  # people move to Berlin, but also to another tool
        if _PART_TIME.search(match["o"]) and predicate in {"lives in", "works at"} and not change:
            return None
        value = _without_adjunct(match["o"])
        if predicate == "lives in" and change and not is_named(match["s"]):
            predicate = "location"
        if not _fits(predicate, value, change=change, named=is_named(match["s"])):
            return None
        subject = read_subject(match["s"], speaker)
        return _make(subject, predicate, match["o"], change=change, past=rule.past)
    return None


def _fits(predicate: str, value: str, *, change: bool, named: bool) -> bool:
    words = value.split()
    if not words:
        return False
    if predicate == "lives in":
        return words[0][:1].isupper() and words[0] != "I"
    if predicate == "works at":
        if words[-1].casefold() in p.NOT_EMPLOYERS or words[0].casefold() in p.NOT_EMPLOYERS:
            return False
        return words[0][:1].isupper() or (not change and words[0] == "the" and "moment" not in words)
    if predicate in {"location", "is planning"}:
        return True
    if predicate == "name":
        return words[0][:1].isupper() or words[0][:1] in "'\""
    if predicate == "married to":
        return words[0][:1].isupper()
    if predicate == "job title":
        return words[-1].casefold() in p.ROLES or words[0].casefold() in p.ROLES
    if predicate == "age":
        return bool(re.fullmatch(r"\d{1,3}(?: years old)?", value)) and named
    return has_form(value, read_predicate(predicate).value)


def _copula(clause: str, speaker: str | None) -> Statement | None:
    """X is Y, whatever X and Y are."""
    match = p.COPULA.match(clause)
    if not match or match["o"].startswith("not "):
        return None
    phrase, value = match["np"], match["o"].strip(" ,.")
    of = re.fullmatch(r"the ([\w -]+?) (?:of|for) .+", phrase, re.I)
    if of and is_attribute(of[1]):
        return _of_phrase(phrase, value, speaker)
    return _described(phrase, value, read_subject(phrase, speaker)) or _of_phrase(phrase, value, speaker)


def _described(phrase: str, value: str, subject: str | None) -> Statement | None:
    """What a subject is, where the words of the description tell what is described."""
    plain, named = value.casefold(), is_named(phrase)
    if not is_certain(phrase):
        return None
    age = re.fullmatch(r"(\d{1,3})(?: years old)?", value)
    if age and (named or "years old" in value) and int(age[1]) <= 120:
        return _make(subject, "age", age[1])
    tall = re.fullmatch(r"(\d[\d.,]* ?(?:cm|m|feet|ft|inches)) tall", value)
    if tall:
        return _make(subject, "height", tall[1])
    if plain in STATES:
        return _make(subject, "status", value)
    if plain in DIETS and named:
        return _make(subject, "diet", plain.removeprefix("a "))
    if plain in MARITAL and named:
        return _make(subject, "marital status", value)
    grade = re.fullmatch(r"in (\w+ grade|grade \d+|year \d+)", value)
    if grade and named:
        return _make(subject, "grade", grade[1])
    version = re.fullmatch(r"(?:on|at) (?:version )?(v?\d[\w.]*)", value)
    if version and not is_clock(value):
        return _make(subject, "version", version[1])
    place = re.fullmatch(
        r"(?:in|on|at|under|by|behind|near|next to|above|below|beside|inside|outside) (.+)", value
    )
    if place:
        # Where a person is changes by the hour; where the office is does not.
        if named:
            return None
        if value.startswith("at ") and is_clock(value):
            return _make(subject, "time", place[1])
        if value.startswith("on ") and is_calendar(value):
            return _make(subject, "day", place[1])
        if phrase.split()[-1].casefold() in p.PEOPLE or p.IDIOMS.match(value):
            return None
        if is_attribute(_bare_np(phrase)) and phrase.split()[-1].casefold() not in _SOMEWHERE:
            return None
        return _make(subject, "location", value)
    role = re.fullmatch(r"an? ((?:[\w-]+ ){0,3}?([\w-]+))(?:,? (?:at|for|with|in|mostly) .+)?", value)
    if role and named and role[2].casefold() in p.ROLES:
        return _make(subject, "is a", role[1])
    kin = re.fullmatch(r"allergic to (.+)", value)
    if kin:
        return _make(subject, "is allergic to", kin[1])
    member = re.fullmatch(r"an? (customer|client|member|partner|supplier|fan|supporter) of (.+)", value)
    if member:
        return _make(subject, "is", value)
    return None


def _of_phrase(phrase: str, value: str, speaker: str | None, **how: object) -> Statement | None:
    """The value of a noun phrase: owner and attribute, or the phrase itself."""
    phrase = phrase.strip(" ,")
    owned = re.fullmatch(r"(?P<owner>.+?(?:'s)?)(?:'s|(?<=s)') (?P<attribute>[^']+)", phrase)
    if owned:
        if not is_certain(owned["owner"]):
            return None
        return _attribute(read_subject(owned["owner"], speaker), owned["attribute"], value, **how)
    mine = re.fullmatch(r"(?P<owner>my|our) (?P<attribute>[^']+)", phrase, re.I)
    if mine:
        owner = speaker if mine["owner"].casefold() == "my" else "we"
        if mine["attribute"].casefold() in p.SEVERAL and not how.get("change"):
            return None
        shift = _when_or_where(value) if len(value.split()) <= 5 and not _ARTICLE.match(value) else None
        if shift and not is_attribute(mine["attribute"]):
            return _make(read_subject(phrase, speaker), shift, _bare_value(value), **how)
        return _attribute(owner, mine["attribute"], value, **how)
    of = re.fullmatch(r"the (?P<attribute>[\w -]+?) (?:of|for) (?P<owner>.+)", phrase, re.I)
    if of and (is_attribute(of["attribute"]) or not how.get("change")):
        return _attribute(read_subject(of["owner"], speaker), of["attribute"], value, **how)
    subject = read_subject(phrase, speaker)
    if subject is None or any(word.casefold() in OTHER_TIMES for word in subject.split()):
        return None
    attribute = read_predicate(subject)
    if attribute.kind is Kind.SINGLE:
        good = has_form(value, attribute.value) and not is_description(value)
        return _make(subject, "is", value, **how) if good else None
    if how.get("change"):
        return _make(subject, _when_or_where(value) or "location", _bare_value(value), **how)
    return None


def _when_or_where(value: str) -> str | None:
    if is_clock(value) and not is_calendar(value):
        return "time"
    return "scheduled for" if is_calendar(value) else None


def _bare_value(value: str) -> str:
    return re.sub(r"^(?:at|on|in) (?=\d|\w+day\b)", "", value)


def _attribute(subject: str | None, attribute: str, value: str, **how: object) -> Statement | None:
    words = attribute.split()
    if subject is None or len(words) > 4 or any(word.casefold() in OTHER_TIMES for word in words):
        return None
    if not all(re.fullmatch(r"[\w-]+", word) for word in words) or _NOT_IN_NOUNS.search(attribute):
        return None
    predicate = read_predicate(attribute)
    if predicate.kind is not Kind.SINGLE and not how.get("change") and not _plain_value(value, words):
        return None
    value = (
        re.sub(r"^(?:at|on|in) (?=\S)", "", value) if predicate.key in {"headquarters", "deadline"} else value
    )
    if not predicate.key or not has_form(_without_adjunct(value) or value, predicate.value):
        return None
    if is_description(value):
        return None
    if words[0].casefold() in {"new"} and predicate.kind is Kind.SINGLE:
        how = {**how, "change": True}
    kept = [word for word in words if word.casefold() not in NEW_WORDS]
    return _make(subject, " ".join(kept), value, **how)


_NOT_IN_NOUNS = re.compile(
    r"\b(?:and|or|but|it|to|of|in|on|a|an|the|is|who|that|this|my|I|for|with|from|one|thing|way|best|only)\b"
)


def _plain_value(value: str, attribute: list[str]) -> bool:
    """Of something that is in no table only a thing counts as a value, not a word of praise."""
    first = value.split()[0]
    thing = first[:1].isupper() or first[:1].isdigit() or first in {"a", "an", "the"}
    return thing and len(value.split()) <= 5 and len(attribute) <= 2


def _has(clause: str, speaker: str | None) -> Statement | None:
    match = p.HAS.match(clause)
    if not match or not is_certain(match["s"]):
        return None
    return _make(read_subject(match["s"], speaker), "has", match["o"])


def _many(clause: str, speaker: str | None) -> Statement | None:
    match = p.MANY.match(clause)
    if not match or match["v"].split()[0].endswith("ing") or not is_certain(match["s"]):
        return None
    first_person = match["s"] in {"I", "We", "we"}
    if p.TALK.search(match["o"]) or p.FORM_OF[match["v"]] not in p.MANY_VERBS.values():
        return None
    third = match["v"].split()[0] == p.FORM_OF[match["v"]].split()[0]
    plural = first_person or re.match(r"(?:the|my|our) .*s$", match["s"], re.I)
    if (third and first_person) or not (third or plural):
        return None
    return _make(read_subject(match["s"], speaker), p.FORM_OF[match["v"]], match["o"])


def _denied(clause: str, speaker: str | None) -> Statement | None:
    match = p.DOES_NOT.match(clause)
    if match:
        return _make(read_subject(match["s"], speaker), p.FORM_OF[match["v"]], match["o"], denied=True)
    match = p.IS_NOT.match(clause)
    if not match:
        return None
    statement = _copula(f"{match['s']} is {match['o']}", speaker)
    return replace(statement, denied=True) if statement else None


def _without_adjunct(value: str) -> str:
    cut = p.ADJUNCT.search(value)
    return value[: cut.start()].strip(" ,") if cut else value


def _bare_np(phrase: str) -> str:
    return re.sub(r"^(?:the|my|our) ", "", phrase, flags=re.I)
