"""Every verb of the table, with the example that the OpenAPI document shows: answered, and the same everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tests.surfaces.test_parity import comparable

from recollect import Recollect, TenantContext
from recollect.client.verbs import VERBS, Verb, arguments_of
from recollect.domain.codec import encode
from recollect.errors import RecollectError
from recollect.surfaces.http import reference
from recollect.surfaces.http.reference import EXAMPLES
from recollect.surfaces.http.routes import operation

ROLES = ("admin", "operator")
#: What a machine's records say differs with the folder that was explored, and with who else explored.
LEFT_OUT = {"explorations_list", "explorations_get", "explorations_replay", "tenants_list"}
#: Its body is a file, so it is no verb; `http/test_doors.py` asks for it.
UPLOAD = "library_add"


class World:
    """A tenant, and what must be there for an example to be answered."""

    def __init__(self, store: Recollect, served_root: Path) -> None:
        self.tenant = f"t-{uuid4().hex[:12]}"
        store.tenants.create(self.tenant)
        self.context = TenantContext(tenant_id=self.tenant, user_id="ana", roles=ROLES)
        self.inside = store.for_context(self.context)
        self.inside.scopes.create(reference.PROJECT)
        self.folder = served_root / self.tenant
        (self.folder / "docs").mkdir(parents=True)
        (self.folder / "docs" / "start.md").write_text("# Start\n\nPress the button.\n", encoding="utf-8")
        (self.folder / "code").mkdir()
        (self.folder / "code" / "shop.py").write_text(
            "def charge_card(amount):\n    return amount\n", encoding="utf-8"
        )
        self._count = 0
        self._made: dict[str, str] = {
            reference.FOLDER: str(self.folder / "docs"),
            reference.CODE: str(self.folder / "code"),
            reference.TASK: f"task-{self.tenant}",
            "acme": f"t-{uuid4().hex[:12]}",
        }

    def example(self, verb: Verb) -> dict[str, Any]:
        """The verb's example, with what it names made real."""
        shown = dict(EXAMPLES[operation(verb)])
        text = json.dumps(shown)
        there = {name: made for name, made in self._made.items() if name in text}
        for name, make in self._makers(verb).items():
            if name in text:
                there[name] = make()
        for name, real in there.items():
            text = text.replace(json.dumps(name), json.dumps(real))
        found: dict[str, Any] = json.loads(text)
        return found

    def _makers(self, verb: Verb) -> Mapping[str, Callable[[], str]]:
        r = self.inside
        self._count += 1
        number = self._count

        def memory() -> str:
            made = r.add(f"Ana's tea of {number} is green.").id
            if verb.name == "restore":
                r.supersede(made, by=r.add(f"Ana's tea of {number} is black now.").id)
            if verb.name == "learning.log_retrieval_event":
                return str(r.search("tea", threshold=0)[0].id)
            return str(made)

        def document() -> str:
            r.library.add(b"# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n", name="guide.md")
            return "guide.md"

        def query() -> str:
            asked = r.search("tea", threshold=0).query_id
            return str(r.traces.get(asked).id)  # which waits until it is written

        def run() -> str:
            r.tenants.set_recursion(threshold=0, enabled=True)
            r.search("Compare the tea of Ana and the water of Ben, and who drinks more of which?")
            return str(r.learning.runs()[0].id)

        return {
            reference.MEMORY: memory,
            reference.NEWER: lambda: str(r.add(f"Ana drinks water since {number}.").id),
            reference.QUERY: query,
            reference.DOCUMENT: document,
            reference.CONSULTATION: lambda: str(
                r.oracle_consult("When does a token expire?", doc_ids=[document()]).consultation.id
            ),
            reference.EVENT: lambda: str(r.events.list()[-1].id),
            reference.RUN: run,
            reference.KEY: lambda: str(r.keys.create("spare", user="ana").key.id),
        }


#: How long it took, in which minute it was, what a process has done so far, when a key was used, and what is drawn.
CHANCE = frozenset(
    {
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "stages",
        "wall_time_ms",
        "searches",
        "log",
        "used_at",
        "token",
        "code_index",
    }
)


def without_chance(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_chance(one) for name, one in value.items() if name not in CHANCE}
    return [without_chance(one) for one in value] if isinstance(value, list) else value


Ask = Callable[[Verb, dict[str, Any]], Any]


def by_python(client: Recollect) -> Ask:
    def ask(verb: Verb, given: dict[str, Any]) -> Any:
        try:
            return encode(verb.bind(client)(**arguments_of(verb, given)))  # type: ignore[arg-type]
        except RecollectError as error:
            return {"error": error.code, "detail": str(error)}

    return ask


def by_http(http: httpx.Client) -> Ask:
    def ask(verb: Verb, given: dict[str, Any]) -> Any:
        path = verb.path.replace(":path", "")
        slots = {name: given.pop(name) for name in re.findall(r"\{(\w+)\}", path)}
        sent = {"params": given} if verb.method in {"GET", "DELETE"} else {"json": given} if given else {}
        done = http.request(verb.method, path.format(**slots), **sent)
        assert done.status_code == verb.status or done.is_error, (verb.name, done.status_code)
        return {"error": done.json()["code"], "detail": done.text} if done.is_error else done.json()

    return ask


@pytest.fixture
def doors(store: Recollect, server: Any, served_root: Path) -> Iterator[dict[str, tuple[World, Ask]]]:
    worlds = {name: World(store, served_root) for name in ("python", "http", "remote")}
    tokens = {
        name: world.inside.keys.create("every", user="ana", roles=ROLES).token
        for name, world in worlds.items()
    }
    with (
        Recollect(url=server.url, api_key=tokens["remote"]) as far,
        httpx.Client(
            base_url=server.url,
            headers={"Authorization": f"Bearer {tokens['http']}"},
            trust_env=False,
            timeout=60,
        ) as http,
    ):
        yield {
            "python": (worlds["python"], by_python(worlds["python"].inside)),
            "http": (worlds["http"], by_http(http)),
            "remote": (worlds["remote"], by_python(far)),
        }


def test_every_verb_has_an_example_and_no_example_is_of_anything_else() -> None:
    assert set(EXAMPLES) == {*(operation(verb) for verb in VERBS), UPLOAD}


@pytest.mark.system
def test_every_example_is_answered_and_all_surfaces_answer_the_same(
    doors: dict[str, tuple[World, Ask]],
) -> None:
    by_operation = {operation(verb): verb for verb in VERBS}
    told: dict[str, dict[str, Any]] = {}
    for name, (world, ask) in doors.items():
        names: dict[str, str] = {}
        told[name] = {}
        for one in (one for one in EXAMPLES if one != UPLOAD):
            verb = by_operation[one]
            document = ask(verb, world.example(verb))
            assert not (isinstance(document, dict) and set(document) == {"error", "detail"}), (
                name,
                one,
                document,
            )
            if one not in LEFT_OUT:  # their ids would be counted as well
                told[name][one] = without_chance(comparable(document, names))
    differ = [
        (one, name, told[name][one], told["python"][one])
        for name in ("http", "remote")
        for one in told["python"]
        if told[name][one] != told["python"][one]
    ]
    assert not differ, "\n".join(map(str, differ))
