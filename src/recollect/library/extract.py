"""Reading without a language model: which passages answer a question, what a text says in short, where a quote stands.

Passages are scored by the share of the question's terms that they hold, each weighted by how rare it is; with an
embedder the closeness of meaning joins in, for the best of those only. Pure but for the embedder it is given.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.library.material import Lead, Volume
from recollect.library.passages import split_passages
from recollect.text.sentences import split_sentences
from recollect.text.terms import query_terms, terms

if TYPE_CHECKING:
    from recollect.providers.embedders import Embedder

#: Passages whose meaning is compared; more would take longer than they bring.
_COMPARED = 64
#: Cosines below and above which a passage is surely off, or on, the topic; the usual ends for small embedders.
_COSINE_LOW, _COSINE_HIGH = 0.15, 0.65
#: Of an answer or a summary in the text's own sentences.
_MAX_SENTENCES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    lead: Lead
    text: str
    counts: Counter[str]


def rank(
    question: str, volumes: Sequence[Volume], *, limit: int = 10, embedder: Embedder | None = None
) -> list[Lead]:
    """The passages that answer best, the best first; only such as share a term with the question, or its meaning."""
    wanted = query_terms(question)
    passages = [passage for volume in volumes for passage in _passages(volume)]
    if not passages or (not wanted and embedder is None):
        return []
    weights = _weights(wanted, passages)
    scored = [(_coverage(passage, weights), at) for at, passage in enumerate(passages)]
    scored.sort(key=lambda place: (-place[0], place[1]))
    if embedder is None:
        return [replace(passages[at].lead, score=score) for score, at in scored[:limit] if score > 0]
    near = scored[:_COMPARED]
    asked, vectors = embedder.embed_query(question), embedder.embed([passages[at].text for _, at in near])
    joined = []
    for (words, at), vector in zip(near, vectors, strict=True):
        close = (float(asked @ vector) - _COSINE_LOW) / (_COSINE_HIGH - _COSINE_LOW)
        meaning = min(max(close, 0.0), 1.0)
        # Either can tell; both together tell more.
        joined.append((0.6 * max(words, meaning) + 0.4 * min(words, meaning), at))
    joined.sort(key=lambda place: (-place[0], place[1]))
    return [replace(passages[at].lead, score=score) for score, at in joined[:limit] if score > 0]


def _passages(volume: Volume) -> list[_Passage]:
    passages = []
    for section in volume.sections:
        start = volume.body_of(section)
        for passage in split_passages(volume.lines[start - 1 : section.line_end], line_start=start):
            lead = Lead(
                doc_id=volume.doc_id,
                line_start=passage.line_start,
                line_end=passage.line_end,
                score=0.0,
                path=section.path,
            )
            counts = Counter(terms(f"{section.path} {passage.text}"))
            passages.append(_Passage(lead=lead, text=passage.text, counts=counts))
    return passages


def _weights(wanted: Sequence[str], passages: Sequence[_Passage]) -> dict[str, float]:
    """How much each of the question's terms tells passages apart."""
    spread = Counter(term for passage in passages for term in wanted if term in passage.counts)
    return {term: math.log(1.0 + len(passages) / (1.0 + spread[term])) for term in wanted}


def _coverage(passage: _Passage, weights: dict[str, float]) -> float:
    total = sum(weights.values())
    if not total:
        return 0.0
    # A second mention says a little more, a tenth no more than that.
    held = sum(weight * (1.0 - 0.4 ** passage.counts[term]) for term, weight in weights.items())
    return held / total


def answering_lines(question: str, text: str) -> list[str]:
    """The sentences of a text that answer, in their order."""
    sentences = list(dict.fromkeys(split_sentences(text)))
    wanted = set(query_terms(question))
    if not wanted:
        return sentences[:_MAX_SENTENCES]
    mentioned = [set(terms(sentence)) & wanted for sentence in sentences]
    spread = Counter(term for term_set in mentioned for term in term_set)
    worth = [
        sum(math.log(1.0 + len(sentences) / spread[term]) for term in term_set) for term_set in mentioned
    ]
    best = sorted(range(len(sentences)), key=lambda at: (-worth[at], at))[:_MAX_SENTENCES]
    return [sentences[at] for at in sorted(best) if worth[at] > 0]


def summary_lines(text: str) -> list[str]:
    """The sentences of a text that say most of what the others speak about, in their order."""
    sentences = list(dict.fromkeys(split_sentences(text)))
    term_sets = [set(terms(sentence)) for sentence in sentences]
    spread = Counter(term for term_set in term_sets for term in term_set)
    total = max(len(sentences), 1)
    weight = {term: math.log(1 + n) * math.log(1 + total / n) for term, n in spread.items()}
    covered: set[str] = set()
    chosen: list[int] = []
    while len(chosen) < min(_MAX_SENTENCES, len(sentences)):
        # What is said already counts no more, so that no two sentences say the same.
        gains = [
            -1.0
            if at in chosen
            else sum(weight[term] for term in term_set - covered) / math.sqrt(len(term_set) + 4)
            for at, term_set in enumerate(term_sets)
        ]
        best = max(range(len(gains)), key=lambda at: gains[at])
        if gains[best] <= 0:
            break
        chosen.append(best)
        covered |= term_sets[best]
    return [sentences[at] for at in sorted(chosen)]
