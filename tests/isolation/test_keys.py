"""Keys: who they speak for, that only a token opens them, and that they end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from recollect import Recollect, TenantContext
from recollect.domain.tenancy import MAX_TOKEN_CHARS, PREFIX, make_token, read_token
from recollect.errors import ForbiddenError, InvalidInputError, NotFoundError, UnauthorizedError

AsUser = Callable[..., Recollect]


def test_a_key_speaks_for_whom_it_was_made(client: Recollect, store: Recollect) -> None:
    made = client.keys.create(
        "support-bot", user="ana", agent="bot", roles=["lead:team/api"], team="api", project="web", org="eng"
    )

    context = store.keys.context_of(made.token)
    assert context == TenantContext(
        tenant_id=client.tenant_context.tenant_id,
        user_id="ana",
        agent_id="bot",
        team_id="api",
        project_id="web",
        org_id="eng",
        roles=("lead:team/api",),
    )
    assert made.token.startswith(PREFIX)
    assert made.token not in repr(made)


def test_what_is_kept_of_a_token_can_not_be_shown_again(client: Recollect, owner_conninfo: str) -> None:
    import psycopg

    made = client.keys.create("bot", user="ana")
    [listed] = client.keys.list()
    assert (listed.id, listed.name, listed.user_id, listed.created_by) == (made.key.id, "bot", "ana", "root")
    assert made.token not in repr(listed)
    with psycopg.connect(owner_conninfo) as connection:
        row = connection.execute(
            "select k::text from recollect.api_key k where k.key_id = %s", [made.key.id]
        ).fetchone()
    assert row is not None
    assert made.token.removeprefix(PREFIX)[30:60] not in row[0]


def test_a_used_key_says_when(client: Recollect, store: Recollect) -> None:
    made = client.keys.create("bot", user="ana")
    assert client.keys.list()[0].used_at is None
    store.keys.context_of(made.token)
    first = client.keys.list()[0].used_at
    assert first is not None
    store.keys.context_of(made.token)
    assert client.keys.list()[0].used_at == first, "once a minute is enough"


def test_a_revoked_key_opens_nothing_and_stays_listed(client: Recollect, store: Recollect) -> None:
    made = client.keys.create("bot", user="ana")
    revoked = client.keys.revoke(made.key.id)

    assert revoked.revoked_at is not None
    assert client.keys.revoke(made.key.id).revoked_at == revoked.revoked_at
    assert [key.state(datetime.now(UTC)) for key in client.keys.list()] == ["revoked"]
    with pytest.raises(UnauthorizedError):
        store.keys.context_of(made.token)


def test_an_expired_key_opens_nothing(client: Recollect, store: Recollect, owner_conninfo: str) -> None:
    import psycopg

    made = client.keys.create("bot", user="ana", expires_at=datetime.now(UTC) + timedelta(hours=1))
    store.keys.context_of(made.token)
    with psycopg.connect(owner_conninfo) as connection:
        connection.execute(
            "update recollect.api_key set expires_at = now() - interval '1 second' where key_id = %s",
            [made.key.id],
        )
    with pytest.raises(UnauthorizedError):
        store.keys.context_of(made.token)
    assert client.keys.list()[0].state(datetime.now(UTC)) == "expired"


def test_a_rotated_key_has_a_new_token_and_the_old_one_ends(client: Recollect, store: Recollect) -> None:
    old = client.keys.create("bot", user="ana", roles=["admin"])
    new = client.keys.rotate(old.key.id)

    assert store.keys.context_of(new.token).is_admin
    with pytest.raises(UnauthorizedError):
        store.keys.context_of(old.token)
    with pytest.raises(InvalidInputError, match="is revoked"):
        client.keys.rotate(old.key.id)


def test_an_overlap_lets_the_old_token_go_on_for_a_while(client: Recollect, store: Recollect) -> None:
    old = client.keys.create("bot", user="ana")
    new = client.keys.rotate(old.key.id, overlap_hours=1)

    assert store.keys.context_of(old.token) == store.keys.context_of(new.token)
    ends = {key.id: key.expires_at for key in client.keys.list()}
    assert ends[new.key.id] is None
    left = ends[old.key.id]
    assert left is not None
    assert left <= datetime.now(UTC) + timedelta(hours=1)


@pytest.mark.parametrize(
    "spoil", ["secret", "id", "tenant", "cut", "case", "empty", "words", "long", "bytes"]
)
def test_any_other_token_opens_nothing(client: Recollect, store: Recollect, spoil: str) -> None:
    made = client.keys.create("bot", user="ana", roles=["admin"])
    tenant = client.tenant_context.tenant_id
    other = {
        "secret": make_token(tenant, made.key.id)[0],
        "id": make_token(tenant, uuid4())[0],
        "tenant": make_token("local", made.key.id)[0],
        "cut": made.token[:-4],
        "case": made.token.swapcase(),
        "empty": "",
        "words": f"{PREFIX}not a token; select 1",
        "long": PREFIX + "A" * MAX_TOKEN_CHARS,
        "bytes": PREFIX + "\udc80é\x00",
    }[spoil]

    with pytest.raises(UnauthorizedError, match="not valid"):
        store.keys.context_of(other)


def test_a_token_reads_back_as_it_was_made() -> None:
    key = uuid4()
    token, secret = make_token("straße-東京", key)
    read = read_token(token)
    assert read is not None
    assert (read.tenant_id, read.key_id, read.secret) == ("straße-東京", key, secret)
    assert make_token("x", key)[0] != make_token("x", key)[0]


@pytest.mark.parametrize("roles", [(), ("lead:team/api",)])
def test_only_admins_make_and_see_keys(as_user: AsUser, client: Recollect, roles: tuple[str, ...]) -> None:
    made = client.keys.create("bot", user="ana", roles=["admin"])
    ana = as_user("ana", roles=roles)
    for attempt in (
        lambda: ana.keys.create("mine", user="ana"),
        lambda: ana.keys.list(),
        lambda: ana.keys.revoke(made.key.id),
        lambda: ana.keys.rotate(made.key.id),
    ):
        with pytest.raises(ForbiddenError, match="only an admin"):
            attempt()


def test_an_admin_hands_out_no_more_than_it_has(as_user: AsUser) -> None:
    admin = as_user("boss", roles=("admin",))
    with pytest.raises(ForbiddenError, match="only an operator"):
        admin.keys.create("all", roles=["operator"])


def test_another_tenants_key_is_as_unknown_as_one_that_never_was(client: Recollect, store: Recollect) -> None:
    made = client.keys.create("bot", user="ana")
    name = f"t-{uuid4().hex[:12]}"
    store.tenants.create(name)
    stranger = store.for_context(TenantContext(tenant_id=name, user_id="eve", roles=("admin",)))

    assert stranger.keys.list() == []
    for id in (made.key.id, uuid4()):
        with pytest.raises(NotFoundError, match=f"no key '{id}'"):
            stranger.keys.revoke(id)
    store.keys.context_of(made.token)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "speaks for nobody"),
        ({"user": ""}, "user_id"),
        ({"user": "ana", "roles": "admin"}, "not the string"),
        ({"user": "ana", "roles": ["boss"]}, "unknown role"),
        ({"user": "ana", "expires_at": "2020-01-01"}, "is over already"),
        ({"user": "ana", "expires_at": "soon"}, "expires_at"),
    ],
)
def test_a_key_that_makes_no_sense_is_refused(
    client: Recollect, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        client.keys.create("bot", **options)  # type: ignore[arg-type]
    assert client.keys.list() == []


def test_forgetting_a_user_ends_their_keys(client: Recollect, store: Recollect) -> None:
    hers, his = client.keys.create("a", user="ana"), client.keys.create("b", user="ben")
    receipt = client.forget_user("ana")

    assert receipt.rows["api_key"] == 1
    assert [key.id for key in client.keys.list()] == [his.key.id]
    with pytest.raises(UnauthorizedError):
        store.keys.context_of(hers.token)


def test_a_link_opens_once_and_gives_a_key_with_the_same_rights(client: Recollect) -> None:
    link = client.keys.link()
    assert link.key.expires_at is not None
    made = client.keys.redeem(link.token)
    assert made.key.roles == ("admin", "operator")
    assert made.key.expires_at is not None
    assert made.key.expires_at > link.key.expires_at
    assert client.keys.context_of(made.token) == client.tenant_context
    for spent in (link.token, made.token, "rcl_nothing"):
        with pytest.raises(UnauthorizedError):
            client.keys.redeem(spent)


def test_the_token_of_a_link_opens_nothing_by_itself(client: Recollect) -> None:
    link = client.keys.link()
    with pytest.raises(UnauthorizedError):
        client.keys.context_of(link.token)
    assert client.keys.redeem(link.token).token != link.token


def test_of_two_who_open_a_link_at_once_one_gets_in(client: Recollect) -> None:
    link = client.keys.link()

    def enter(_: int) -> bool:
        try:
            return bool(client.keys.redeem(link.token))
        except UnauthorizedError:
            return False

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(enter, range(4))) == [False, False, False, True]


def test_leaving_ends_the_key_of_a_visit_and_no_other(client: Recollect) -> None:
    visit = client.keys.redeem(client.keys.link().token)
    own = client.keys.create("bot", user="root", roles=("admin",))
    assert client.keys.leave(visit.token) is True
    with pytest.raises(UnauthorizedError):
        client.keys.context_of(visit.token)
    for token in (visit.token, own.token, "rcl_nothing"):
        assert client.keys.leave(token) is False
    assert client.keys.context_of(own.token).is_admin


def test_links_that_are_over_are_not_kept(client: Recollect) -> None:
    client.keys.redeem(client.keys.link().token)
    client.keys.create("bot", user="ana")
    client.keys.link()
    assert sorted(key.name for key in client.keys.list()) == ["bot", "dashboard", "one-time link"]


def test_only_an_admin_makes_a_link(as_user: Callable[..., Recollect]) -> None:
    with pytest.raises(ForbiddenError):
        as_user("ana").keys.link()
