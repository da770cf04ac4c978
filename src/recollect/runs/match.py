"""Rows without a model: the sentences of the material that hold the words of a question."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

from recollect.domain.rows import Column, Row, Rows, Value
from recollect.runs.pieces import Piece, check_columns
from recollect.text.aim import TELL
from recollect.text.sentences import BULLET
from recollect.text.terms import query_terms, terms

#: Words that say how a question is asked, and nothing about what: "list", "mention", "number of", as terms.
_ASKING = frozenset(query_terms(f"{TELL} number total mention documents insgesamt gibt"))
#: The share of a question's words, the rarer the heavier, that a sentence and its heading hold between them.
_HELD = 0.5
_ITEM = re.compile(rf"\s*\||{BULLET.pattern}")
#: Questions for what has something, and clauses that say that something has not.
_HAVING = re.compile(
    r"\b(?:needs?|requires?|supports?|uses?|allows?|braucht|brauchen|erforder\w+)\b", re.IGNORECASE
)
_DENIAL = re.compile(
    r"\b(?:no|not|never|nothing|none|without|cannot|kein\w*|nicht|nie|ohne)\b|n['’]t\b", re.IGNORECASE
)
_CLAUSE = re.compile(r"[.;:,]\s|\b(?:but|unless|aber)\b")

#: A sentence with its first and last line, counted from 1 within the piece, and the words that it says by itself: the
#: head of a table stands in the text of each of its rows.
Sentence = tuple[str, int, int, str]
#: Finds rows without a model.
Match = Callable[[str, Sequence[Column], Sequence[Piece]], Rows]


def match_sentences(
    question: str,
    columns: Sequence[Column],
    pieces: Sequence[Piece],
    sentences: Callable[[Sequence[str]], Sequence[Sentence]],
) -> Rows:
    """A row for each sentence that holds the question's words: its text is the first column that takes a text."""
    check_columns(columns)
    question_terms = query_terms(question)
    wanted = [term for term in question_terms if term not in _ASKING] or question_terms
    split = [(piece, sentence) for piece in pieces for sentence in sentences(piece.lines)]
    term_sets = [set(terms(own)) for _, (_, _, _, own) in split]
    spread = Counter(term for term_set in term_sets for term in term_set)
    weights = {term: math.log(1.0 + len(split) / (1.0 + spread[term])) for term in wanted}
    least = _HELD * sum(weights.values())
    denied = _denied(question)
    named = next((column.name for column in columns if column.kind == "text" and not column.one_of), None)
    rows: list[Row] = []
    for (piece, (text, first, last, own)), own_terms in zip(split, term_sets, strict=True):
        known = own_terms.union(terms(f"{piece.label} {text}"))
        # Below a heading that is what is asked for, a row of a table or an item of a list is one of them.
        item = _ITEM.match(piece.lines[first - 1]) and set(wanted) <= set(terms(piece.heading))
        speaks = item or own_terms.intersection(wanted)
        if not speaks or denied(own) or sum(weights[term] for term in wanted if term in known) < least:
            continue
        values: dict[str, Value] = dict.fromkeys((column.name for column in columns), None)
        if named is not None:
            values[named] = text
        rows.append(Row(values=values, quote=text, citations=(piece.cite(first, last),)))
    units = {piece.unit for piece in pieces}
    note = "found by the question's words: what says it in other words is missing, and not every row has to belong"
    return Rows(columns=tuple(columns), rows=tuple(rows), looked=len(units), total=len(units), notes=(note,))


def _denied(question: str) -> Callable[[str], bool]:
    """Tells texts that deny what a question asks for: "nothing has to be restarted", where it asks what needs it."""
    having = _HAVING.search(question)
    key = set(query_terms(question[having.end() :])[:1]) if having and not _DENIAL.search(question) else set()

    def denied(text: str) -> bool:
        speaking = [clause for clause in _CLAUSE.split(text) if key.intersection(terms(clause))]
        return bool(speaking) and all(_DENIAL.search(clause) for clause in speaking)

    return denied
