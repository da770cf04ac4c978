"""What a model says it found, held against what it was shown.

A claim carries a quote, and may name the result that it quotes. Words that a call offered as a finding bring that
finding's citations with them; words that stand in what a call gave back cite that call. A quote that was never observed
makes the claim unsupported: it is kept for the record, without confidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from recollect.domain.findings import Citation, CitationStatus, Finding, span_hash
from recollect.runs.planners.contract import CallAnswer, Situation
from recollect.runs.quotes import MIN_QUOTE_CHARS, locate, plain, spellings

#: The kind of a citation that names a call of the run instead of a place in the material.
OBSERVATION = "observation"
_MAX_CHARS = 4_000
_NUMBER = re.compile(r"(\d+)\s*[.,:]\s*(?:call\s*)?(\d+)")


class Claim(Protocol):
    """What a model gives for one finding; `observation` is the number of the result it quotes, or empty."""

    description: str
    quote: str
    confidence: float
    group: str
    observation: str


def findings_of(claims: Sequence[Claim], situation: Situation) -> tuple[Finding, ...]:
    """The claims as findings, with the citations that what was observed gives them."""
    plains: dict[int, str] = {}
    return tuple(
        _found(claim, situation, plains)
        for claim in claims
        if claim.description.strip() or claim.quote.strip()
    )


def _found(claim: Claim, situation: Situation, plains: dict[int, str]) -> Finding:
    evidence = claim.quote.strip()[:_MAX_CHARS]
    unseen = _citation("", span_hash(""), evidence, CitationStatus.UNSUPPORTED)
    unsupported = Finding(
        description=claim.description.strip()[:_MAX_CHARS] or evidence,
        evidence=evidence,
        source_file="",
        confidence=0.0,
        group=" ".join(claim.group.split())[:_MAX_CHARS] or None,
        citations=(unseen,),
    )
    supported = replace(unsupported, confidence=min(max(claim.confidence, 0.0), 1.0))
    for spelling in spellings(evidence):
        quote = plain(spelling)
        if len(quote) < MIN_QUOTE_CHARS:
            continue
        for name, seen in _observed(situation, claim.observation):
            offered = _offered(quote, seen, plains)
            if offered is not None:
                return replace(
                    supported,
                    source_file=offered.source_file,
                    line_range=offered.line_range,
                    group=supported.group or offered.group,
                    citations=offered.citations,
                )
            if quote in _plain_of(seen.text, plains, id(seen)):
                cited = _citation(name, span_hash(seen.text), evidence, CitationStatus.UNCHECKED)
                return replace(supported, source_file=name, citations=(cited,))
    return unsupported


def anchored(
    claim: Finding,
    spans: Sequence[tuple[str, int, int]],
    lines: Callable[[str], Sequence[str] | None],
    cite: Callable[[str, int, int], Citation | None],
) -> Finding | None:
    """A claim at the very lines that it quotes: of those it cites, else of `spans`; None when they are nowhere.

    One that cites several places, as a count does, rests on all of them.
    """
    cited = tuple(citation for citation in claim.citations if citation.kind != OBSERVATION)
    if len(cited) < 2:
        own = [(citation.file_path, citation.line_start, citation.line_end) for citation in cited]
        for path, first, last in own or spans:
            read = (lines(path) or ())[first - 1 : last] if first else ()
            where = locate(claim.evidence, read, first=first)
            citation = cite(path, *where) if where else None
            if citation is not None:
                citation = replace(citation, supports=any(place.supports for place in cited))
                return replace(claim, source_file=path, line_range=where, citations=(citation,))
    return replace(claim, citations=cited) if cited else None


def _offered(quote: str, seen: CallAnswer, plains: dict[int, str]) -> Finding | None:
    """Of what a call offered, the narrowest that holds the words: they stand in it and not merely near it."""
    holding = [
        finding
        for finding in seen.findings
        if quote
        in _plain_of(
            f"{finding.evidence}\n{' '.join(citation.quote for citation in finding.citations)}",
            plains,
            id(finding),
        )
    ]
    return min(holding, key=lambda finding: len(finding.evidence), default=None)


def _plain_of(text: str, plains: dict[int, str], key: int) -> str:
    if key not in plains:
        plains[key] = plain(text)
    return plains[key]


def _citation(name: str, content_hash: str, quote: str, status: CitationStatus) -> Citation:
    return Citation(
        kind=OBSERVATION,
        file_path=name,
        line_start=0,
        line_end=0,
        content_hash=content_hash,
        quote=quote,
        status=status,
    )


def _observed(situation: Situation, named: str) -> Iterator[tuple[str, CallAnswer]]:
    """Every result with the name of its call: the one that a claim names first, then the newest."""
    match = _NUMBER.search(named)
    wanted = (int(match[1]), int(match[2])) if match else None
    answers = [entry for entry in situation.answers() if entry[2].record.error is None]
    answers.sort(key=lambda entry: (entry[:2] != wanted, -entry[0], entry[1]))
    for step, place, answer in answers:
        yield f"step {step}, call {place}: {answer.record.tool}", answer
