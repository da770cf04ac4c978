"""What a command is given reaches its verb: `given` goes by names, so a name that no verb knows would be lost."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import typer

from recollect.client.verbs import BY_NAME
from recollect.surfaces.cli import explore, memories, oracle, search, tenancy, upkeep
from recollect.surfaces.cli.invocation import given

#: A command, its verb, and the options that the command reads itself.
COMMANDS: list[tuple[Callable[..., Any], str, set[str]]] = [
    (memories.add, "add", {"text", "messages"}),
    (memories.list_, "count", {"limit", "cursor", "order", "count"}),
    (memories.update, "update", {"clear"}),
    (memories.delete, "delete", {"ids", "yes"}),
    (search.search, "search", {"dry_run"}),
    (search.context, "context", {"messages"}),
    (search.ask, "ask", {"dry_run"}),
    (search.explain, "explain", set()),
    (oracle.consult, "oracle_consult", {"end_session", "dry_run"}),
    (explore.explore, "explore", {"dry_run"}),
    (tenancy.create_key, "keys.create", {"expires", "days"}),
    (upkeep.consolidate, "consolidate", set()),
    (upkeep.list_traces, "traces.list", {"by"}),
]


@pytest.mark.parametrize(("command", "verb", "own"), COMMANDS, ids=lambda part: getattr(part, "__name__", ""))
def test_every_option_reaches_its_verb_or_is_read_by_the_command(
    command: Callable[..., Any], verb: str, own: set[str]
) -> None:
    options = [name for name in inspect.signature(command).parameters if name != "ctx"]
    context = typer.Context(typer.main.get_command(_app(command)))
    context.params = {name: "{}" for name in options}
    reached = given(context, verb)
    assert len(reached) == len(set(options) - own)
    assert set(reached) <= set(inspect.signature(BY_NAME[verb].function).parameters)


def test_what_was_not_given_is_left_to_the_verb() -> None:
    context = typer.Context(typer.main.get_command(search.app))
    context.params = {"query": "tea", "layer": [], "type": (), "filter": None, "limit": 3, "explain": False}
    assert given(context, "search") == {"query": "tea", "limit": 3, "explain": False}


def _app(command: Callable[..., Any]) -> typer.Typer:
    app = typer.Typer()
    app.command()(command)
    return app
