"""`Recollect(url=...)` and `recollect --url`: the verbs and types of the embedded store, asked of a server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from recollect import AsyncRecollect, OracleConsultResult, Recollect, TenantContext
from recollect.client.verbs import VERBS, Verb, arguments_of, parameters
from recollect.domain.findings import AnswerPart
from recollect.domain.oracle import OracleEvent
from recollect.errors import (
    ForbiddenError,
    InvalidInputError,
    MemoryNotFoundError,
    ScopeNotFoundError,
    StoreUnreachableError,
    UnauthorizedError,
)


@pytest.fixture
def far(server: Any, client: Recollect) -> Iterator[Callable[..., Recollect]]:
    """The test's tenant through the server: `far(user="ana")`."""
    opened: list[Recollect] = []

    def connect(*, user: str | None = "ana", roles: tuple[str, ...] = ()) -> Recollect:
        token = client.keys.create("far", user=user, roles=roles).token
        made = Recollect(url=server.url, api_key=token)
        opened.append(made)
        return made

    yield connect
    for one in opened:
        one.close()


def test_what_comes_back_is_what_the_embedded_store_returns(
    far: Callable[..., Recollect], as_user: Callable[..., Recollect]
) -> None:
    ana, near = far(), as_user("ana")
    added = ana.add(
        "Ana keeps bees.", entities=["Ana"], created_at=datetime(2026, 5, 8, tzinfo=UTC), metadata={"n": 1}
    )
    assert added == near.get(added.id)
    turns = ana.add([{"role": "user", "content": "I moved to Porto."}], conversation="c1")
    assert turns == [near.get(turns[0].id)]
    assert ana.list() == near.list()
    assert ana.history(added.id) == near.history(added.id)
    found, there = ana.search("Who keeps bees?", threshold=0), near.search("Who keeps bees?", threshold=0)
    assert [hit.id for hit in found] == [hit.id for hit in there]
    assert found[0] == there[0]
    assert ana.context("bees", threshold=0).text == near.context("bees", threshold=0).text
    now = datetime(2026, 6, 1, tzinfo=UTC)
    assert ana.explain("bees in May", now=now) == near.explain("bees in May", now=now)
    assert ana.update(added.id, importance=0.9) == near.get(added.id)
    assert ana.feedback(added.id, "helpful").score > 0
    report = ana.add_many([{"text": "One."}, {"text": ""}])
    assert (report.added, report.errors[0].index) == (1, 1)
    assert ana.delete(added.id).rows["memory"] == 1
    with pytest.raises(MemoryNotFoundError):
        near.get(added.id)


def test_documents_are_sent_read_and_consulted(far: Callable[..., Recollect], tmp_path: Any) -> None:
    ana = far()
    guide = tmp_path / "guide.md"
    guide.write_text("# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n", encoding="utf-8")
    report = ana.library.add(guide, tags=["api"])
    assert report.document.name == "guide.md"
    assert ana.library.list(tags=["api"]) == [report.document]
    assert ana.library.get("guide.md") == report.document
    assert [section.heading for section in ana.library.sections("guide.md")] == ["Guide", "Tokens"]
    assert ana.library.search("When do tokens expire?")[0].document == "guide.md"
    heard: list[OracleEvent] = []
    result = ana.oracle_consult("When does a token expire?", on_event=heard.append)
    assert isinstance(result, OracleConsultResult)
    assert "15 minutes" in result.answer
    assert [event.number for event in heard] == list(range(1, len(heard) + 1))
    told: list[object] = []
    answer = ana.ask("When does a token expire?", on_event=told.append)
    [part] = [one for one in told if isinstance(one, AnswerPart)]
    assert (part.source, part.text) == ("library", answer.text)
    assert any(isinstance(one, OracleEvent) for one in told)
    assert ana.verify(result).holds
    assert ana.consultations.get(result.consultation.id).answer == result.answer
    assert ana.library.remove("guide.md").rows["document"] == 1


def test_errors_are_those_that_the_store_raises(far: Callable[..., Recollect], server: Any) -> None:
    ana = far()
    with pytest.raises(InvalidInputError, match="limit"):
        ana.search("x", limit=0)
    with pytest.raises(ScopeNotFoundError, match="team/none"):
        ana.search("x", scope="team/none")
    with pytest.raises(ForbiddenError, match="admin"):
        ana.keys.list()
    with pytest.raises(InvalidInputError, match="needs the store itself"):
        ana.reembed()
    with pytest.raises(UnauthorizedError), Recollect(url=server.url, api_key="rcl_no") as nobody:
        nobody.search("x")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(StoreUnreachableError, match="check the url"):
            Recollect(url=f"http://127.0.0.1:{port}", api_key="rcl_x").search("x")
    with pytest.raises(InvalidInputError, match="http://"):
        Recollect(url="ftp://example.org")


def test_an_admins_key_speaks_for_others(
    far: Callable[..., Recollect], as_user: Callable[..., Recollect]
) -> None:
    admin = far(user="root", roles=("admin",))
    tenant = admin.tenant_context.tenant_id
    ben = admin.for_context(TenantContext(tenant_id=tenant, user_id="ben"))
    assert ben.add("Ben likes tea.") == as_user("ben").list()[0]
    with pytest.raises(ForbiddenError, match="not of 'other'"):
        admin.for_context(TenantContext(tenant_id="other", user_id="ben"))


def test_every_verb_is_asked_of_the_server_and_of_no_store(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    nobody = AsyncRecollect(tmp_path, url=url, api_key="none")
    samples: dict[Any, Any] = {str: "x", bool: True, int | None: 1, dict[str, Any]: {}}

    async def ask(verb: Verb) -> None:
        needed = [parameter for parameter in parameters(verb) if parameter.required]
        given = {parameter.name: samples.get(parameter.type, ["x"]) for parameter in needed}
        with pytest.raises(StoreUnreachableError, match=url):
            await verb.bind(nobody)(**arguments_of(verb, given))

    async def ask_all() -> None:
        for verb in VERBS:
            await ask(verb)

    asyncio.run(ask_all())
    assert not list(tmp_path.iterdir())


def test_the_asynchronous_client_asks_too(server: Any, client: Recollect) -> None:
    token = client.keys.create("far", user="ana").token

    async def ask() -> Any:
        async with AsyncRecollect(url=server.url, api_key=token) as ana:
            return (await ana.add("Async works.")).text

    assert asyncio.run(ask()) == "Async works."


def test_the_command_line_asks_a_server(server: Any, client: Recollect) -> None:
    import json

    from typer.testing import CliRunner

    from recollect.surfaces.cli.main import app

    environ = {"RECOLLECT_API_KEY": client.keys.create("far", user="ana").token}

    def run(*args: str) -> Any:
        return CliRunner().invoke(app, ["--url", server.url, *args], env=environ, prog_name="recollect")

    assert run("add", "The kiln is hot.").exit_code == 0
    found = run("search", "Is the kiln hot?", "--threshold", "0", "--json")
    assert [hit["text"] for hit in json.loads(found.stdout)["hits"]] == ["The kiln is hot."]
    missing = run("get", str(uuid4()))
    assert (missing.exit_code, "no memory" in missing.stderr) == (3, True)
