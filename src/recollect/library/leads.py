"""What a planner without a language model does with documents: follow the leads of a first look, in a fixed order.

A question is looked up as a whole, then each of its parts, then the sections around the best places are read, then the
rare names in it are searched word for word. Features describe the situation, never the words, so that a policy can
learn to leave steps out; one that knows nothing takes them in this order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from recollect.files.patterns import escape
from recollect.library.material import EVERYTHING, Lead
from recollect.retrieval.assemble.compare import find_sides
from recollect.runs.environment import Action
from recollect.text.aim import wants_rows

_MAX_PARTS = 4
#: The leads that come before whatever stands around them.
_SHOWN = 5
#: Sections that are read, and documents that are searched for a name.
_SECTIONS = 3
_DOCUMENTS = 3
_NAMES = 2
#: Names as programs have them: `quoted`, snake_case, CamelCase, dotted.names, --options, E1234.
_NAME = re.compile(
    r"`([^`\s]{3,60})`|(--?[a-z][\w-]{2,40})|\b([A-Za-z]\w*(?:[._/:-]\w+)+)\b|\b(\w+_\w+)\b"
    r"|\b([A-Z]+[a-z0-9]+[A-Z]\w*)\b|\b([A-Z]{1,6}\d{2,})\b"
)
_PART = re.compile(
    r"\?\s+|;\s+|\n+|,?\s+(?:and|und|y|et)\s+(?=(?:what|how|which|when|where|who|why|does|do|is|are|can)\b)",
    re.I,
)
_MIN_PART_WORDS = 3
_HOW_TO = re.compile(
    r"\W*(?:how|where|when|why) (?:do|does|can|could|should|to|would)\b(?!.*\bdiffer(?:ent)? from\b)", re.I
)
#: Places of the whole question that come before the best ones of its parts: those that are sure to be shown. With 3
#: the parts push right places of two manuals out of the first five (69 instead of 72 %) and bring none in.
_WHOLE_FIRST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Leads:
    """What a first look found for a question, the best first."""

    known: tuple[Lead, ...] = ()

    @property
    def around(self) -> float:
        """What the lines beside a lead are worth: less than the leads that an answer is sure to show."""
        shown = self.known[:_SHOWN]
        return 0.99 * shown[-1].score if shown else 0.5


def sides_of(query: str) -> tuple[str, ...]:
    """What a question compares; nothing where it asks how to."""
    return () if _HOW_TO.match(query) else find_sides(query)


def parts_of(query: str) -> list[str]:
    """The questions that a question is made of, or the sides that it compares; empty when it is one."""
    if sides := sides_of(query):
        return list(sides[:_MAX_PARTS])
    parts = [" ".join(part.split()).strip(" ?.,;") for part in _PART.split(query)]
    kept = [part for part in dict.fromkeys(parts) if len(part.split()) >= _MIN_PART_WORDS]
    return kept[:_MAX_PARTS] if len(kept) > 1 else []


def merge_looks(
    whole: Sequence[Lead], parts: Sequence[Sequence[Lead]], *, threshold: float, limit: int
) -> list[Lead]:
    """The places of a question and of its parts in one ranking, the best first.

    A question is answered when it is as a whole, or when each of its parts is: a part alone ("what is its default?")
    fits anything. The best place of every part then follows the best of the whole, and scores fall with the ranking.
    """
    answered = [look for look in parts if look and look[0].score >= threshold]
    as_whole = bool(whole) and whole[0].score >= threshold
    if not answered or not (as_whole or len(answered) == len(parts)):
        return list(whole[:limit])
    first = list(whole[:_WHOLE_FIRST]) if as_whole else []
    rest = [*whole[len(first) :], *(lead for look in answered for lead in look[1:2])]
    ordered: list[Lead] = []
    for lead in [*first, *(look[0] for look in answered), *rest]:
        if not any(_same_place(lead, other) for other in ordered):
            ordered.append(lead)
    good = [lead for lead in ordered if lead.score >= threshold]
    top = max(lead.score for lead in good)
    ranked = [
        replace(lead, score=threshold + (top - threshold) * (1.0 - place / len(good)))
        for place, lead in enumerate(good)
    ]
    return [*ranked, *(lead for lead in ordered if lead.score < threshold)][:limit]


def _same_place(one: Lead, other: Lead) -> bool:
    return (
        one.doc_id == other.doc_id and one.line_start <= other.line_end and other.line_start <= one.line_end
    )


def names_of(query: str) -> list[str]:
    """Words that stand in a text exactly so or not at all: identifiers, options, codes."""
    names = ["".join(match.groups(default="")) for match in _NAME.finditer(query)]
    return list(dict.fromkeys(name for name in names if name))[:_NAMES]


def propose(
    leads: Leads, query: str, *, step: int, threshold: float, named: bool = False, model: bool = False
) -> list[Action]:
    """The actions that make sense at a step, the usual one first.

    Of `named` material nothing is left out; a `model` that reads it tells by itself whether it holds what is asked for.
    """
    best = leads.known[0].score if leads.known else 0.0
    features = {
        "best": best,
        "answered": float(best >= threshold),
        "documents": min(len({lead.doc_id for lead in leads.known}) / 10, 1.0),
        "step": min(step / 5, 1.0),
    }
    offers: list[Action] = []

    def offer(template: str, thought: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
        offers.append(
            Action(
                template=template,
                calls=tuple(calls),
                features={**features, "cost": min(len(calls) / 8, 1.0)},
                thought=thought,
            )
        )

    documents = list(dict.fromkeys(lead.doc_id for lead in leads.known))[:_DOCUMENTS]
    if wants_rows(query) and (best >= threshold or (named and model)):
        answering = dict.fromkeys(lead.doc_id for lead in leads.known if lead.score >= threshold)
        source = EVERYTHING if named else "\n".join(dict.fromkeys([*documents, *answering]))
        offer(
            "map_sections",
            "put the question to every section",
            [("map_sections", {"source": source, "question": query, "in_answer": True})],
        )
    offer("look", "look the question up", [("query_subset", {"content": EVERYTHING, "question": query})])
    if parts := parts_of(query):
        offer(
            "look_parts",
            "look each part of the question up",
            [("query_subset", {"content": EVERYTHING, "question": part}) for part in parts],
        )
    if names := names_of(query):
        offer(
            "look_names",
            "look the names up word for word",
            [
                ("search_pattern", {"doc_id": doc_id, "regex": f"(?i){escape(name)}"})
                for doc_id in documents
                for name in names
            ],
        )
    places = dict.fromkeys((lead.doc_id, lead.path) for lead in leads.known if lead.path)
    if places and best >= threshold:
        offer(
            "read_sections",
            "read around the best places",
            [
                ("get_section", {"doc_id": doc_id, "section_path": path})
                for doc_id, path in list(places)[:_SECTIONS]
            ],
        )
    offers = [offer for offer in offers if offer.calls][step:]
    end = Action(
        template="stop", calls=(), features={**features, "cost": 0.0}, thought="enough was read", done=True
    )
    return [*offers, end] if offers else [end]
