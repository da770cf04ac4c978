"""One look, or one request: the best passages go straight into the answer, or the material straight into the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from recollect.domain.findings import Finding
from recollect.library.material import Lead
from recollect.library.passages import Part, locate_in
from recollect.oracle.material import ConsultedMaterial
from recollect.providers.models.contract import AtMost
from recollect.providers.tokens import count_tokens, first_tokens
from recollect.runs.fences import fence, new_boundary, preface, read_prompt

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel, Profile

_SHORT = "Give `sentences`: the answer, one short sentence each."
_LONG = (
    "Give `sentences`: the answer in the language of the question, as long as the question needs, in passages of\n"
    "Markdown: a paragraph, a list, a table or a piece of code each. Begin with the answer itself; give all that is\n"
    "asked for.\n"
    "Where advice is asked for, give it, resting on the material."
)

#: The instructions and the fences around each part.
PROMPT_TOKENS = 600
_AROUND_TOKENS = 60
_QUESTION_TOKENS = 4_000
#: A small model's answer: six sentences with two quotes each, as long as they may be.
_SMALL_OUTPUT_TOKENS = 1_200


@dataclass(frozen=True, slots=True)
class DirectSentence:
    """One sentence, and the words of the material it rests on."""

    text: Annotated[str, AtMost(200)]
    quotes: Annotated[list[Annotated[str, AtMost(160)]], AtMost(2)]


@dataclass(frozen=True, slots=True)
class DirectAnswer:
    """What a small model is asked for. No default: an answer of another form must not read as "nothing is said"."""

    sentences: Annotated[list[DirectSentence], AtMost(6)]


@dataclass(frozen=True, slots=True)
class DirectBlock:
    """A paragraph, list, table or piece of code in Markdown, and the words of the material it rests on."""

    text: str
    quotes: list[str]


@dataclass(frozen=True, slots=True)
class DirectBlocks:
    """What any other model is asked for."""

    sentences: list[DirectBlock]


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """What went into the prompt, and what came of it. `dropped` sentences had no quote that is in the material."""

    findings: tuple[Finding, ...]
    parts: tuple[Part, ...]
    dropped: int = 0


async def look_once(material: ConsultedMaterial, leads: Sequence[Lead]) -> tuple[Finding, ...]:
    """The places of a first look as findings."""
    findings = []
    for lead in leads:
        volume = await material.open(lead.doc_id)
        findings.append(volume.find_lead(lead))
    return tuple(findings)


async def ask_once(
    model: ChatModel,
    problem: str,
    material: ConsultedMaterial,
    leads: Sequence[Lead],
    *,
    max_tokens: int | None,
    guidance: str = "",
) -> Injected:
    """One request with all of the material, or as much of the best of it as fits. Raises a `ModelError`."""
    boundary = new_boundary()
    small = model.profile.shape == "small"
    room = direct_room(model.profile, max_tokens)
    parts = await choose_parts(material, leads, max_tokens=room)
    question = first_tokens(problem, min(_QUESTION_TOKENS, max(room // 4, 64)))
    texts = [preface(boundary), fence("question", question, boundary)]
    for volume, first, last in parts:
        # A part is chosen by lines; only one that is a single huge line can be too long.
        text = first_tokens(volume.text_of(first, last), room)
        texts.append(fence(f"{volume.kind} {volume.doc_id!r} lines {first} to {last}", text, boundary))
    form: Any = DirectAnswer if small else DirectBlocks
    answer = await model.answer(
        read_prompt(__package__, "prompts/direct.md")
        .replace("{length}", _SHORT if small else _LONG)
        .replace("{guidance}", guidance)
        .strip(),
        "\n\n".join(texts),
        form,
        max_tokens=direct_output(model.profile),
    )
    findings: list[Finding] = []
    dropped = 0
    for sentence in answer.value.sentences:
        finding = _supported(sentence, parts)
        if finding is None:
            dropped += bool(sentence.text.strip())
        else:
            findings.append(finding)
    return Injected(findings=tuple(findings), parts=tuple(parts), dropped=dropped)


def direct_room(profile: Profile, max_tokens: int | None = None) -> int:
    """How much of the material one request shows."""
    room = profile.input_tokens(direct_output(profile)) - PROMPT_TOKENS - 1_000
    return max(min(room, max_tokens or room), 256)


def direct_output(profile: Profile) -> int:
    """How long the answer may be: every passage comes with its quotes."""
    return _SMALL_OUTPUT_TOKENS if profile.shape == "small" else 2 * profile.answer_tokens


async def choose_parts(material: ConsultedMaterial, leads: Sequence[Lead], *, max_tokens: int) -> list[Part]:
    """All of the material if it fits, else the sections that a first look leads to, the best first."""
    entries = list(material.entries.values())
    around = _AROUND_TOKENS * len(entries)
    if sum(entry.tokens for entry in entries) + around <= max_tokens:
        volumes = [await material.open(entry.doc_id) for entry in entries]
        return [(volume, 1, len(volume.lines)) for volume in volumes]
    parts: list[Part] = []
    left = max_tokens
    taken: set[tuple[str, int]] = set()
    for lead in leads:
        volume = await material.open(lead.doc_id)
        section = volume.section_at(lead.line_start)
        for first, last in (
            (section.line_start, section.line_end) if section else (lead.line_start, lead.line_end),
            (lead.line_start, lead.line_end),
        ):
            cost = count_tokens(volume.text_of(first, last)) + _AROUND_TOKENS
            if (lead.doc_id, first) not in taken and cost <= left:
                taken.add((lead.doc_id, first))
                parts.append((volume, first, last))
                left -= cost
                break
    return parts


def _supported(sentence: DirectSentence | DirectBlock, parts: Sequence[Part]) -> Finding | None:
    """A passage with the places of its quotes; None when none of them is in the material."""
    text = sentence.text.strip() if isinstance(sentence, DirectBlock) else " ".join(sentence.text.split())
    places = {quote: place for quote in sentence.quotes if (place := locate_in(parts, quote)) is not None}
    if not text or not places:
        return None
    citations = dict.fromkeys(volume.cite(first, last) for volume, first, last in places.values())
    return Finding.on(*citations, description=text, evidence=next(iter(places)), confidence=0.9)
