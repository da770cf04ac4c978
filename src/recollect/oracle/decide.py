"""Direct or recursive: by the hint, the size of the material, and how complex the question is."""

from __future__ import annotations

from recollect.domain.oracle import DepthHint, ProcessingMode
from recollect.runs.dense import wants_rows
from recollect.runs.router import ComplexityRouter, RouteDecision

#: Below it one look or one request usually wins; the published work on recursive models puts the crossing here.
DIRECT_TOKENS = 16_000


def decide(
    problem: str, *, depth_hint: DepthHint, tokens: int, router: ComplexityRouter
) -> tuple[ProcessingMode, str]:
    """The mode, and why, in words for a person."""
    if depth_hint == "quick":
        return "direct", "quick was asked for"
    if depth_hint == "thorough":
        return "rlm", "thorough was asked for"
    if wants_rows(problem):
        return "rlm", "the question wants all of something, so every section is asked"
    if tokens > DIRECT_TOKENS:
        return "rlm", f"the material has {tokens:,} tokens, more than {DIRECT_TOKENS:,}"
    if router.route(problem) is RouteDecision.RLM:
        return "rlm", "the question is complex"
    return "direct", f"the material has {tokens:,} tokens and the question is simple"
