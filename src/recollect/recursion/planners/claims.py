"""What a model says it found, held against what it was shown.

A claim carries a quote. Words that a call offered as a finding bring that finding's citations with them; words that
stand in what a call gave back cite that call. A quote that was never observed makes the claim unsupported: it is kept
for the record, without confidence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from recollect.domain.findings import Citation, CitationStatus, Finding, span_hash
from recollect.recursion.planners.contract import Situation

#: The kind of a citation that names a call of the run instead of a place in the material.
OBSERVATION = "observation"
#: Fewer characters are in any text, so they prove nothing.
_MIN_QUOTE_CHARS = 3
_MAX_CHARS = 1_000


class Claim(Protocol):
    """What a model gives for one finding."""

    description: str
    quote: str
    confidence: float
    group: str


def findings_of(claims: Sequence[Claim], situation: Situation) -> tuple[Finding, ...]:
    """The claims as findings, with the citations that what was observed gives them."""
    offered = [
        (finding, _plain(f"{finding.evidence} {' '.join(one.quote for one in finding.citations)}"))
        for finding in situation.offered
    ]
    observed = [(name, text, _plain(text)) for name, text in _observed(situation)]
    return tuple(
        _found(claim, offered, observed)
        for claim in claims
        if claim.description.strip() or claim.quote.strip()
    )


def _found(
    claim: Claim, offered: Sequence[tuple[Finding, str]], observed: Sequence[tuple[str, str, str]]
) -> Finding:
    quote = _plain(claim.quote)
    description = claim.description.strip()[:_MAX_CHARS] or claim.quote.strip()[:_MAX_CHARS]
    evidence = claim.quote.strip()[:_MAX_CHARS]
    confidence = min(max(claim.confidence, 0.0), 1.0)
    group = " ".join(claim.group.split())[:_MAX_CHARS] or None
    if len(quote) >= _MIN_QUOTE_CHARS:
        for finding, plain in offered:
            if quote in plain:
                return Finding(
                    description=description,
                    evidence=evidence,
                    source_file=finding.source_file,
                    line_range=finding.line_range,
                    confidence=confidence,
                    group=group or finding.group,
                    citations=finding.citations,
                )
        for name, text, plain in observed:
            if quote in plain:
                seen = _citation(name, span_hash(text), evidence, CitationStatus.UNCHECKED)
                return Finding(
                    description=description,
                    evidence=evidence,
                    source_file=name,
                    confidence=confidence,
                    group=group,
                    citations=(seen,),
                )
    unseen = _citation("", span_hash(""), evidence, CitationStatus.UNSUPPORTED)
    return Finding(
        description=description,
        evidence=evidence,
        source_file="",
        confidence=0.0,
        group=group,
        citations=(unseen,),
    )


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


def _observed(situation: Situation) -> Iterator[tuple[str, str]]:
    """Every text that calls gave back, with the name of its call."""
    for step in situation.steps:
        last = step is situation.steps[-1]
        for place, call in enumerate(step.tool_calls):
            if call.error is not None:
                continue
            name = f"step {step.iteration}, call {place + 1}: {call.tool}"
            if last and place < len(situation.last_texts):
                yield name, situation.last_texts[place]
            yield name, "\n".join(_strings(call.result))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield str(name)
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
    else:
        yield json.dumps(value)


def _plain(text: str) -> str:
    """Words alone: models change the white space and capitals of what they copy."""
    return " ".join(text.split()).casefold()
