"""`recollect explain`: how a search would read a question, before anything is searched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.surfaces.cli.invocation import (
    LayersOption,
    NowOption,
    ScopeOption,
    TimezoneOption,
    invocation,
    read_argument,
)
from recollect.surfaces.cli.output import Output, moment, one_line

if TYPE_CHECKING:
    from recollect.domain.query import Aim, QueryType, ResolvedEntity, TimeRange, Understanding

app = typer.Typer(rich_markup_mode=None)

#: How an entity was resolved, as people say it.
_METHODS = {
    "first_person": "who is asking",
    "exact": "known by this name",
    "alias": "known by another name",
    "fuzzy": "a similar name",
    "pronoun": "what the session was about",
    "domain": "a row of the domain database",
    "new": "not known yet",
}
#: Terms of a long query that are shown.
_SHOWN_TERMS = 40


@app.command()
def explain(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="The question; - reads standard input.")],
    layer: LayersOption = None,
    scope: ScopeOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
) -> None:
    """Show how a question is understood: category, entities, time, weights."""
    inv = invocation(ctx)
    question = read_argument(query, what="query")
    with inv.client() as client:
        asked = client.explain(question, layers=layer or None, scope=scope, now=now, timezone=timezone)
    if inv.out.as_json:
        inv.out.document(asked)
    else:
        _show(inv.out, asked)


def _show(out: Output, asked: Understanding) -> None:
    """One line per thing that was understood, its name first."""
    rows = [("category", _category(asked.type))]
    rows += [("entity", _entity(entity)) for entity in asked.entities]
    if not asked.entities:
        rows.append(("entity", "none"))
    rows.append(("time", "any" if asked.time_range is None else _time(asked.time_range)))
    rows.append(("wants", _wants(asked.aim)))
    rows.append(("strategy", f"{asked.strategy.name} ({asked.strategy.source})"))
    rows += [
        ("weight", f"{weight:.2f}  {name.replace('_', ' ')}")
        for name, weight in asked.strategy.weights.items()
    ]
    more = len(asked.terms) - _SHOWN_TERMS
    rows.append(("terms", ", ".join(asked.terms[:_SHOWN_TERMS]) + (f" and {more} more" if more > 0 else "")))
    rows += [("note", note) for note in asked.notes]
    last = ""
    for name, value in rows:
        if out.on_terminal:
            out.line(f"{'' if name == last else name:<10} {one_line(value)}")
        else:
            out.table([], [(name, value)])
        last = name


def _category(kind: QueryType) -> str:
    flags = {
        "about entities": kind.entity_focused,
        "about a time": kind.time_focused,
        "about how something is done": kind.procedural,
        "needs current data": kind.requires_domain_db,
    }
    return ", ".join([kind.category.value, *(name for name, is_set in flags.items() if is_set)])


def _wants(aim: Aim) -> str:
    flags = {"about the past": aim.past, "about the asker": aim.first_person}
    return ", ".join(
        [aim.want.value.replace("_", " or "), *(name for name, is_set in flags.items() if is_set)]
    )


def _entity(entity: ResolvedEntity) -> str:
    parts = [
        f"{entity.mention_text} = {entity.name} ({entity.canonical_id})",
        entity.kind,
        f"{_METHODS[entity.method.value]}, {entity.confidence:.0%} sure",
    ]
    if entity.also:
        parts.append(f"also {', '.join(entity.also)}")
    if entity.rivals:
        parts.append(f"or {', '.join(entity.rivals)}")
    return "; ".join(parts)


def _time(period: TimeRange) -> str:
    start = moment(period.start) if period.start else "the beginning"
    end = moment(period.end) if period.end else "open end"
    anchored = f", from {period.anchor!r}" if period.anchor else ""
    return f"{start} to {end} (from {period.phrase!r}{anchored})"
