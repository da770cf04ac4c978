"""The same verbs everywhere: one life of an agent, through Python, the command line, HTTP, a remote client and MCP.

Each surface has a tenant of its own in the same store; what they answer must be the same but for ids and times.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import httpx
import pytest
from typer.testing import CliRunner

from recollect import AsyncRecollect, Recollect, Settings, TenantContext
from recollect.client.verbs import BY_NAME, arguments_of
from recollect.domain.codec import encode
from recollect.errors import RecollectError

GUIDE = (
    "# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n\n## Limits\n\nA client may ask 100 times.\n"
)


class Door(Protocol):
    """A surface: answers with a document, or with the code of an error."""

    def ask(self, verb: str, **given: Any) -> Any: ...


class Python:
    """The client itself, embedded or remote."""

    def __init__(self, client: Recollect) -> None:
        self._client = client

    def ask(self, verb: str, **given: Any) -> Any:
        face, _, name = verb.rpartition(".")
        kwargs = given if verb == "library.add" else arguments_of(BY_NAME[verb], given)
        try:
            owner = getattr(self._client, face) if face else self._client
            return encode(getattr(owner, name)(**kwargs))
        except RecollectError as error:
            return {"error": error.code}


class Http:
    """Requests to the server."""

    def __init__(self, url: str, token: str) -> None:
        self._http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=60
        )

    def close(self) -> None:
        self._http.close()

    def ask(self, verb: str, **given: Any) -> Any:
        if verb == "library.add":
            content = given.pop("source")
            answer = self._http.post("/v1/library/documents", params=given, content=content)
        else:
            path, method = BY_NAME[verb].path.replace(":path", ""), BY_NAME[verb].method
            slots = {name: given.pop(name) for name in re.findall(r"\{(\w+)\}", path)}
            sent = {"params": given} if method in {"GET", "DELETE"} else {"json": given}
            answer = self._http.request(method, path.format(**slots), **sent)
        document = answer.json()
        return {"error": document["code"]} if answer.is_error else document


class Cli:
    """The command line, with --json."""

    WORDS: Mapping[str, tuple[str, ...]] = {
        "add": ("add", "text"),
        "get": ("get", "id"),
        "list": ("list",),
        "search": ("search", "query"),
        "update": ("update", "id"),
        "delete": ("delete", "id"),
        "history": ("history", "id"),
        "feedback": ("feedback", "memory_id", "kind"),
        "library.list": ("library list",),
        "library.search": ("library search", "query"),
        "library.remove": ("library remove", "document"),
        "oracle_consult": ("consult", "problem"),
        "explore": ("explore", "path", "query"),
        "scopes.create": ("scopes create", "scope"),
    }
    OPTIONS: Mapping[str, str] = {"entities": "entity", "doc_ids": "doc", "tags": "tag"}

    def __init__(self, environ: dict[str, str], folder: Path) -> None:
        self._environ, self._folder = environ, folder

    def ask(self, verb: str, **given: Any) -> Any:
        if verb == "library.add":
            file = self._folder / given.pop("name")
            file.write_bytes(given.pop("source"))
            words = ["library", "add", str(file)]
        elif verb == "context":
            words = ["context", given.pop("query"), "--memories"]
        else:
            command, *places = self.WORDS[verb]
            words = [*command.split(), *(str(given.pop(place)) for place in places)]
        for name, value in given.items():
            option = f"--{self.OPTIONS.get(name, name).replace('_', '-')}"
            for one in value if isinstance(value, list) else [value]:
                words += [option, json.dumps(one) if isinstance(one, dict) else str(one)]
        words += ["--yes"] if verb in {"delete", "library.remove"} else []
        done = CliRunner().invoke(
            _app(), ["--user", "ana", *words, "--json"], env=self._environ, prog_name="recollect"
        )
        if done.exit_code:
            code = json.loads(done.stderr)["error"]["code"]
            # Its options say themselves what they take, before anything else looks at them.
            return {"error": "invalid_input" if code == "usage" else code}
        return json.loads(done.stdout)


def _app() -> Any:
    from recollect.surfaces.cli.main import app

    return app


class Mcp:
    """The six tools."""

    TOOLS: Mapping[str, str] = {
        "add": "memory_add",
        "update": "memory_add",
        "get": "memory_search",
        "list": "memory_search",
        "search": "memory_search",
        "feedback": "memory_feedback",
        "delete": "memory_delete",
        "oracle_consult": "oracle_consult",
        "explore": "codebase_explore",
    }

    def __init__(self, settings: Settings, context: TenantContext) -> None:
        self._settings, self._context = settings, context

    def ask(self, verb: str, **given: Any) -> Any:
        async def main() -> Any:
            from mcp import Client

            from recollect.surfaces.mcp.server import local_server

            async with (
                AsyncRecollect(settings=self._settings, context=self._context) as client,
                Client(local_server(client)) as agent,
            ):
                asked = {"memory_id" if name == "id" else name: value for name, value in given.items()}
                return await agent.call_tool(self.TOOLS[verb], asked)

        result = asyncio.run(main())
        if result.is_error:
            return {"error": result.content[0].text.split(":", 1)[0]}
        return result.meta["recollect/result"]


@pytest.fixture
def doors(store: Recollect, settings: Settings, server: Any, tmp_path: Path) -> Iterator[dict[str, Door]]:
    """Every surface, as user `ana` of a tenant of its own."""
    contexts = {}
    for name in ("python", "cli", "http", "remote", "mcp"):
        tenant = f"t-{uuid4().hex[:12]}"
        store.tenants.create(tenant)
        contexts[name] = TenantContext(tenant_id=tenant, user_id="ana")

    def token(name: str) -> str:
        admin = store.for_context(contexts[name].replace(user_id="root", roles=("admin",)))
        return admin.keys.create("parity", user="ana").token

    cli = {
        "RECOLLECT_HOME": str(settings.home),
        "RECOLLECT_DATABASE_URL": settings.database_url or "",
        "RECOLLECT_EMBEDDER": settings.embedder,
        "RECOLLECT_TENANT": contexts["cli"].tenant_id,
    }
    with Recollect(url=server.url, api_key=token("remote")) as far:
        over_http = Http(server.url, token("http"))
        yield {
            "python": Python(store.for_context(contexts["python"])),
            "cli": Cli(cli, tmp_path),
            "http": over_http,
            "remote": Python(far),
            "mcp": Mcp(settings, contexts["mcp"]),
        }
        over_http.close()


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TENANT = re.compile(r"\bt-[0-9a-f]{12}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(T[\d:.]+(\+00:00|Z)?)?")
#: What differs from run to run, whoever asks.
_NOISE = frozenset({"timings_ms", "latency_ms", "wall_time_seconds", "duration_ms", "session", "session_id"})
#: Where a file came from: a path for who has a disk in common with the store.
_NOISE |= {"source"}


def comparable(value: Any, names: dict[str, str]) -> Any:
    """An answer without what can't be the same twice: ids are numbered as they appear, times and scores blurred."""
    if isinstance(value, dict):
        return {key: comparable(one, names) for key, one in value.items() if key not in _NOISE}
    if isinstance(value, list):
        return [comparable(one, names) for one in value]
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, str):
        text = _ID.sub(lambda found: names.setdefault(found[0], f"<id {len(names)}>"), value)
        return _TIME.sub("<time>", _TENANT.sub("<tenant>", text))
    return value


def live(door: Door, steps: Callable[[Door, Callable[..., Any]], None]) -> list[tuple[str, Any]]:
    """What a surface answered to each step."""
    said: list[tuple[str, Any]] = []
    names: dict[str, str] = {}

    def ask(verb: str, **given: Any) -> Any:
        document = door.ask(verb, **given)
        said.append((verb, comparable(document, names)))
        return document

    steps(door, ask)
    return said


def _remembering(door: Door, ask: Callable[..., Any]) -> None:
    added = ask(
        "add", text="Ana keeps bees on the roof.", entities=["Ana"], importance=0.8, metadata={"n": 1}
    )
    ask("add", text="The bees make honey in May.")
    ask("add", text="")
    ask("add", text="Nobody's.", scope="team/none")
    found = ask("search", query="Who keeps bees?", threshold=0)
    ask("search", query="Who keeps bees?")
    ask("search", query="bees", limit=0)
    ask("search", query="bees", timezone="Mars/Base")
    ask("feedback", memory_id=added["id"], kind="helpful", query_id=found["query_id"])
    ask("feedback", memory_id=added["id"], kind="lovely")
    ask("delete", id=added["id"])
    ask("delete", id=added["id"])
    ask("search", query="Who keeps bees?", threshold=0)


def _keeping(door: Door, ask: Callable[..., Any]) -> None:
    added = ask("add", text="The build runs at night.")
    ask("get", id=added["id"])
    ask("get", id="01890000-0000-7000-8000-000000000000")
    ask("get", id="no id")
    ask("update", id=added["id"], text="The build runs at noon.", importance=0.9)
    ask("update", id=added["id"], importance=7)
    ask("history", id=added["id"])
    ask("list")
    ask("list", limit=1)
    ask("list", layers=["galaxy"]) if not isinstance(door, Cli) else ask("list", layer="galaxy")


def _reading(door: Door, ask: Callable[..., Any]) -> None:
    ask("library.add", source=GUIDE.encode(), name="guide.md")
    ask("library.list")
    ask("library.search", query="When do tokens expire?", limit=2)
    ask("library.remove", document="guide.md")
    ask("library.remove", document="guide.md")


@pytest.mark.parametrize("steps", [_remembering, _keeping, _reading])
def test_every_surface_answers_the_same(
    doors: dict[str, Door], steps: Callable[[Door, Callable[..., Any]], None]
) -> None:
    truth = live(doors["python"], steps)
    assert any("error" in document for _, document in truth if isinstance(document, dict))
    for name in ("remote", "http", "cli", *(["mcp"] if steps is _remembering else [])):
        told = live(doors[name], steps)
        for (verb, expected), (_, document) in zip(truth, told, strict=True):
            assert document == expected, f"{verb} over {name}"


def test_code_is_explored_alike(doors: dict[str, Door], served_root: Path) -> None:
    folder = served_root / f"code-{uuid4().hex[:8]}"
    folder.mkdir()
    (folder / "billing.py").write_text("def charge_card(amount):\n    return amount\n", encoding="utf-8")
    asked = {"path": str(folder), "query": "where is charge_card"}
    answers = {name: door.ask("explore", **asked) for name, door in doors.items()}
    truth = answers["python"]
    assert truth["citations"][0]["file_path"] == "billing.py"
    for name, document in answers.items():
        assert document["synthesis"] == truth["synthesis"], name
        assert document["citations"] == truth["citations"], name
        assert set(document) == set(truth), name
