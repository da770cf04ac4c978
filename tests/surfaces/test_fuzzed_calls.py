"""Whatever a public call is given, it answers or raises one of our errors.

Each call gets a few examples; the system test tries many. Values that are right and values that are wrong are mixed, so
that some examples get past the first check.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args, get_type_hints
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect import Recollect, TenantContext
from recollect.errors import RecollectError

#: What starts or ends the client, and what works on the whole store for minutes however it is called.
LEFT_OUT = {"open", "close", "compact", "build_index", "doctor", "reembed"}

#: No slash and no dots: a path that is made of these is below the test's own folder.
NAMES = st.sampled_from(["x", "ana", "Acme GmbH", "user", "team", "episodic", "auto", "helpful", "€ ☃ 名"])
STRINGS = NAMES | st.sampled_from(
    [
        "",
        " ",
        "2026-05-08",
        "Europe/Lisbon",
        "user/ana",
        "team/api",
        "a\x00b",
        "\ud800",
        "x" * 1_000,
        str(uuid4()),
    ]
)
NUMBERS = st.sampled_from(
    [0, 1, 2, 50, -1, 10**30, 2**31, 2**63, True, 0.0, 0.5, -0.5, float("nan"), float("inf")]
)
OTHERS = st.sampled_from(
    [
        None, b"", b"caf\xe9", object(), print, Path("x"), Decimal("1.5"), UUID(int=7), range(3), {"a"},
        datetime(2026, 5, 8), datetime.max, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), UTC,
        [], [None], [[]], [{}], {}, {1: 2}, {"text": "x"}, {"$or": []}, {"\ud800": "\x00"},
        {"metadata.a": {"$gt": object()}},
        [{"role": "user", "content": "hello"}], [{"content": 5}],
    ]
)  # fmt: skip
#: Anything at all, with lists and dicts of it.
ANYTHING = st.recursive(
    STRINGS | NUMBERS | OTHERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=4,
)


def public_calls() -> Iterator[str]:
    """Every method of the client and of its faces."""
    for name, member in vars(Recollect).items():
        if name.startswith("_") or name in LEFT_OUT:
            continue
        if inspect.isfunction(member):
            yield name
        elif isinstance(member, property):
            face = get_type_hints(member.fget)["return"]
            if face.__module__ == Recollect.__module__:
                methods = inspect.getmembers(face, inspect.isfunction)
                yield from (f"{name}.{method}" for method, _ in methods if not method.startswith("_"))


CALLS = sorted(public_calls())


def values_for(hint: Any) -> st.SearchStrategy[Any]:
    """Mostly what the annotation asks for."""
    kinds = [str(one) for one in get_args(hint) or (hint,)]
    right: list[st.SearchStrategy[Any]] = []
    for kind in kinds:
        if "Sequence[str]" in kind:
            right.append(st.lists(STRINGS, max_size=3))
        elif "Mapping" in kind:
            right.append(st.dictionaries(STRINGS, STRINGS | NUMBERS | OTHERS, max_size=3))
        elif "str" in kind or "PathLike" in kind:
            right.append(STRINGS)
        elif "int" in kind or "float" in kind or "bool" in kind:
            right.append(NUMBERS)
    return st.one_of(*right, *right, ANYTHING)


@st.composite
def arguments(draw: st.DrawFn, function: Callable[..., Any]) -> dict[str, Any]:
    hints = get_type_hints(function)
    given: dict[str, Any] = {}
    for one in list(inspect.signature(function).parameters.values())[1:]:
        if one.default is inspect.Parameter.empty or draw(st.integers(0, 3)) == 0:
            given[one.name] = draw(values_for(hints[one.name]))
    return given


def new_tenant(store: Recollect) -> Recollect:
    tenant = f"fuzz-{uuid4().hex[:12]}"
    store.tenants.create(tenant)
    client = store.for_context(TenantContext(tenant_id=tenant, user_id="ana", roles=("admin", "operator")))
    client.add("Acme GmbH is in Lisbon")
    return client


def tenant_for(call: str, store: Recollect, fuzzed: Recollect) -> Recollect:
    """What trains asks about all that there is, so it gets a tenant that the other calls have not filled."""
    return new_tenant(store) if call == "learning.bootstrap" else fuzzed


@pytest.fixture(scope="module")
def fuzzed(store: Recollect, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    """A tenant with a memory in it, and nowhere to go from the working folder."""
    folder = tmp_path_factory.mktemp("below") / "here"
    folder.mkdir()
    client = new_tenant(store)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield client


def refuses_or_answers(client: Recollect, call: str, given: Mapping[str, Any]) -> str:
    """What came of it: "answered", or our refusal."""
    face, _, name = call.rpartition(".")
    try:
        getattr(getattr(client, face) if face else client, name)(**given)
    except RecollectError as error:
        return f"{error.code}: {error}"
    return "answered"


def found(call: str) -> Callable[..., Any]:
    face, _, name = call.rpartition(".")
    owner: Any = Recollect
    if face:
        owner = get_type_hints(getattr(Recollect, face).fget)["return"]
    function: Callable[..., Any] = getattr(owner, name)
    return function


def fuzz(client: Recollect, call: str, count: int) -> None:
    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    @given(arguments(found(call)))
    def go(given: dict[str, Any]) -> None:
        refuses_or_answers(client, call, given)

    go()


@pytest.mark.parametrize("call", CALLS)
def test_no_call_raises_what_is_not_ours(store: Recollect, fuzzed: Recollect, call: str) -> None:
    fuzz(tenant_for(call, store, fuzzed), call, 5)


@pytest.mark.system
@pytest.mark.parametrize("call", CALLS)
def test_no_call_raises_what_is_not_ours_however_often_it_is_tried(
    store: Recollect, fuzzed: Recollect, call: str
) -> None:
    # `python -m tests.reliability fuzz` goes on for as long as one likes.
    fuzz(tenant_for(call, store, fuzzed), call, examples(80))


@pytest.mark.parametrize(
    ("call", "given", "message"),
    [
        ("search", {"query": "x", "limit": "10"}, "limit must be a whole number, not '10'"),
        (
            "search",
            {"query": "x", "layers": "team"},
            r"layers must be a list, not the string 'team'; write \['team'\]",
        ),
        ("search", {"query": "x", "explain": 1}, "explain must be True or False, not 1"),
        ("search", {"query": "x", "filters": [1]}, "filters must be a dict, not list"),
        ("search", {"query": "x", "layers": ["\ud800"]}, "layers has a lone surrogate at position 0"),
        ("add", {"text_or_messages": "x", "importance": True}, "importance must be a number, not True"),
        ("add", {"text_or_messages": 5}, "text_or_messages must be a string or bytes or a list, not 5"),
        ("get", {"id": None}, "id must be an id or a string, not None"),
        ("library.add", {"source": "a\x00b"}, "source 'a.x00b' can't be the path of a file"),
        ("explore", {"path": ".", "on_event": 5}, "on_event must be a function, not 5"),
        ("for_context", {"context": "ana"}, "context must be a TenantContext, not 'ana'"),
    ],
)
def test_a_refusal_names_the_argument_and_what_it_should_be(
    fuzzed: Recollect, call: str, given: dict[str, Any], message: str
) -> None:
    face, _, name = call.rpartition(".")
    with pytest.raises(RecollectError, match=message):
        getattr(getattr(fuzzed, face) if face else fuzzed, name)(**given)
