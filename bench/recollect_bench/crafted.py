"""Questions written for signals that public data sets lack: importance, proven use, summaries, entities and so on.

Made up, and named so in every report: it shows that a signal does what it is for, not how often people need it. Each
question has two memories that fit its words alike, and something beside the words says which one is wanted; or, for
links, an answer without any word of the question. The wanted one is right when it comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from recollect_bench.questions import KEY, Corpus, Item, Question

SCOPE = "user/crafted"
#: The day all questions are asked on.
TODAY = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
#: How often the wanted memory of a question about proven use was used.
USES = 60
#: The group of the questions about proven use.
USED = "reinforcement"

_THINGS = (
    "archive key, label printer, spare projector, visitor badge, first aid kit, step ladder, conference phone, "
    "safety vest"
).split(", ")
_DEVICES = (
    "coffee grinder, badge reader, air purifier, door intercom, plotter, rain sensor, label scale, pool heater"
).split(", ")
_PEOPLE = "Ilse, Tomasz, Noor, Bruno, Keiko, Amara, Sven, Paloma".split(", ")
_MONTHS = "April, May, June, July, August, September, October, November".split(", ")
_COMPANIES = "Acmera, Belfino, Corvanta, Delphora, Eskavia, Fintrola, Gravenko, Heliora".split(", ")
_EVENTS = (
    "harvest fair, summer gala, book launch, regatta, jazz night, charity run, open day, wine tasting"
).split(", ")
_MANAGERS = (
    "Marta Quill, Oskar Brandt, Lena Okafor, Pavel Dudek, Rosa Linde, Igor Falk, Yara Mensah, Colin Thorpe"
).split(", ")
_TOPICS = "refunds, passwords, invoices, shipping, upgrades, refills, warranties, bookings".split(", ")


def crafted_corpus() -> Corpus:
    """All of it, the same every time."""
    pairs = [*_important(), *_used(), *_periods(), *_recent(), *_named(), *_summed(), *_led()]
    return Corpus(
        name="crafted-1",
        items=[item for items, _ in pairs for item in items],
        questions=[question for _, question in pairs],
    )


Pair = tuple[list[Item], Question]


def _important() -> Iterator[Pair]:
    for number, thing in enumerate(_THINGS):
        text = f"The {thing} is kept in cabinet {{}}."
        wanted, other = _two("importance", number, text, 100 + 7 * number)
        yield (
            [wanted | {"importance": 0.95}, other | {"importance": 0.05}],
            _ask(f"Where is the {thing} kept?", wanted),
        )


def _used() -> Iterator[Pair]:
    for number, device in enumerate(_DEVICES):
        text = f"To reset the {device}, hold its button for {{}} seconds."
        wanted, other = _two(USED, number, text, 11 + 3 * number)
        yield [wanted, other], _ask(f"How do I reset the {device}?", wanted)


def _periods() -> Iterator[Pair]:
    for number, (person, month) in enumerate(zip(_PEOPLE, _MONTHS, strict=True)):
        text = f"{person} agreed to a budget of {{}} thousand."
        wanted, other = _two("temporal", number, text, 30 + 9 * number)
        at = datetime(2025, 4 + number, 12, 9, 0, tzinfo=UTC)
        yield (
            [wanted | {"created_at": at}, other | {"created_at": at + timedelta(days=90)}],
            _ask(f"Which budget did {person} agree to in {month} 2025?", wanted),
        )


def _recent() -> Iterator[Pair]:
    for number, person in enumerate(_PEOPLE):
        text = f"{person} sits at desk {{}}."
        wanted, other = _two("recency", number, text, 200 + 11 * number)
        old = {"created_at": TODAY - timedelta(days=500)}
        yield [wanted, other | old], _ask(f"At which desk does {person} sit?", wanted)


def _named() -> Iterator[Pair]:
    for number, company in enumerate(_COMPANIES):
        text = "They want the contract renewed for {} months."
        wanted, other = _two("entity", number, text, 12 + 2 * number)
        yield (
            [wanted | {"entities": [company]}, other | {"entities": [f"{company[:4]} Partners"]}],
            _ask(f"For how many months does {company} want the contract renewed?", wanted),
        )


def _summed() -> Iterator[Pair]:
    for number, topic in enumerate(_TOPICS):
        text = f"Support closed {{}} tickets about {topic}."
        wanted, other = _two("summary", number, text, 40 + 13 * number)
        yield (
            [wanted | {"type": "summary"}, other],
            _ask(f"How many tickets about {topic} did support close?", wanted),
        )


def _led() -> Iterator[Pair]:
    for number, (event, manager) in enumerate(zip(_EVENTS, _MANAGERS, strict=True)):
        first = _item(f"linked-{number}-first", f"The caterer for the {event} is {manager}.")
        wanted = _item(f"linked-{number}", f"{manager} lives in house {300 + number} by the canal.")
        yield (
            [first, wanted | {"entities": [manager]}],
            Question(
                text=f"Where does the caterer for the {event} live?",
                gold=frozenset({first["metadata"][KEY], wanted["metadata"][KEY]}),
                scope=SCOPE,
                group="linked",
                now=TODAY,
            ),
        )


def _two(group: str, number: int, text: str, figure: int) -> tuple[Item, Item]:
    """The wanted memory and its twin, which differ by a figure; which has the greater one takes turns."""
    figures = (figure, figure + 5) if number % 2 else (figure + 5, figure)
    return (
        _item(f"{group}-{number}", text.format(figures[0])),
        _item(f"{group}-{number}-other", text.format(figures[1])),
    )


def _item(thing: str, text: str) -> Item:
    return {
        "text": text,
        "scope": SCOPE,
        "created_at": TODAY - timedelta(days=20),
        "metadata": {KEY: thing},
    }


def _ask(text: str, wanted: Item) -> Question:
    thing = wanted["metadata"][KEY]
    return Question(
        text=text, gold=frozenset({thing}), scope=SCOPE, group=thing.rpartition("-")[0], now=TODAY
    )
