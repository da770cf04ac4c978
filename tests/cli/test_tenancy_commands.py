"""tenants, scopes, members, forget-user, and what the options before the command mean."""

from __future__ import annotations

import uuid
from typing import Any


def test_a_tenant_is_created_listed_shown_and_forgotten(cli: Any) -> None:
    id = f"acme-{uuid.uuid4().hex[:8]}"
    created = cli("tenants", "create", id, "--name", "Acme Ltd", "--json").json
    assert (created["id"], created["name"]) == (id, "Acme Ltd")
    assert cli("tenants", "create", id, "--json", code=5).error["code"] == "conflict"
    assert id in {tenant["id"] for tenant in cli("tenants", "list", "--json").json}
    assert cli("tenants", "get", id, "--json").json["name"] == "Acme Ltd"
    assert "--yes" in cli("tenants", "forget", id, code=2).err
    cli("--tenant", id, "add", "a memory of acme")
    receipt = cli("tenants", "forget", id, "--yes", "--json").json
    assert receipt["memories"] == 1
    assert cli("tenants", "get", id, "--json", code=3).error["code"] == "tenant_not_found"


def test_a_tenant_nobody_created_is_not_found(cli: Any) -> None:
    done = cli("--tenant", "no-such-tenant", "add", "x", "--json", code=3)
    assert done.error["code"] == "tenant_not_found"


def test_nothing_crosses_from_one_tenant_to_another(cli: Any) -> None:
    other = f"other-{uuid.uuid4().hex[:8]}"
    cli("tenants", "create", other)
    id = cli("add", "the vault code is 4711").out.strip()
    assert cli("--tenant", other, "list", "--json").json["items"] == []
    cli("--tenant", other, "get", id, code=3)


def test_retention_is_set_in_days_or_forever(cli: Any) -> None:
    assert cli("tenants", "retention", "session", "30", "--json").json["retention_days"] == {"session": 30}
    assert cli("tenants", "get").out.split("\t")[2] == "session 30 days"
    assert cli("tenants", "retention", "session", "forever", "--json").json["retention_days"] == {}
    for days in ("0", "-3", "soon", "1.5"):
        cli("tenants", "retention", "--", "session", days, code=2)
    cli("tenants", "retention", "galaxy", "3", code=2)


def test_routing_is_set_per_tenant(cli: Any) -> None:
    tenant = cli("tenants", "recursion", "on", "--threshold", "0.5", "--json").json
    assert (tenant["recursion_enabled"], tenant["recursion_threshold"]) == (True, 0.5)
    assert cli("tenants", "get").out.split("\t")[3] == "on from 0.5"
    tenant = cli("tenants", "recursion", "default", "--json").json
    assert (tenant["recursion_enabled"], tenant["recursion_threshold"]) == (None, None)
    assert cli("tenants", "recursion", "off").out.split("\t")[3] == "off"
    for bad in (("maybe",), ("on", "--threshold", "1.5"), ("on", "--threshold", "high")):
        cli("tenants", "recursion", *bad, code=2)
    assert cli("tenants", "get").out.split("\t")[3] == "off"
    cli("tenants", "recursion", "default")


def test_scopes_form_a_tree_that_can_be_moved_and_cut(cli: Any) -> None:
    cli("scopes", "create", "org/platform")
    created = cli("scopes", "create", "team/api", "--parent", "org/platform", "--json").json
    assert created["parent"] == "org/platform"
    assert cli("scopes", "create", "team/api", code=5).err.startswith("recollect: ")
    cli("scopes", "create", "org/delivery")
    assert (
        cli("scopes", "move", "team/api", "--parent", "org/delivery", "--json").json["parent"]
        == "org/delivery"
    )
    assert [line.split("\t")[0] for line in cli("scopes", "list", "--layer", "team").out.splitlines()] == [
        "team/api"
    ]
    cli("scopes", "delete", "org/delivery", "--yes", code=5)
    cli("add", "a note of the team", "--scope", "team/api")
    assert cli("scopes", "delete", "team/api", "--yes", "--json").json["memories"] == 1
    cli("scopes", "delete", "team/api", "--yes", code=3)


def test_members_see_their_scope_and_others_do_not(cli: Any) -> None:
    cli("scopes", "create", "team/api")
    cli("add", "the api team meets at nine", "--scope", "team/api")
    assert cli("members", "add", "ana", "team/api", "--json").json["role"] == "member"
    assert cli("members", "list", "--scope", "team/api", "--json").json[0]["user_id"] == "ana"
    assert len(cli("--user", "ana", "list", "--json").json["items"]) == 1
    assert cli("--user", "bob", "list", "--json").json["items"] == []
    cli("members", "remove", "ana", "team/api")
    assert cli("--user", "ana", "list", "--json").json["items"] == []
    assert cli("members", "list", "--user", "ana", "--json").json == []


def test_a_user_has_only_the_roles_that_are_given(cli: Any) -> None:
    cli("scopes", "create", "team/api")
    cli("add", "a note of the team", "--scope", "team/api")
    assert cli("--user", "ana", "tenants", "list", "--json", code=4).error["code"] == "forbidden"
    assert cli("--user", "ana", "--role", "admin", "list", "--json").json["items"] != []
    assert cli("--user", "ana", "--role", "lead:team/api", "list", "--json").json["items"] != []
    assert "roles are 'admin'" in cli("--user", "ana", "--role", "king", "list", code=2).err


def test_the_place_options_name_the_scope_that_a_layer_means(cli: Any) -> None:
    cli("scopes", "create", "org/platform")
    cli("scopes", "create", "team/api", "--parent", "org/platform")
    cli("scopes", "create", "project/login", "--parent", "team/api")
    for layer, name in (
        ("org", "platform"),
        ("team", "api"),
        ("project", "login"),
        ("session", "s1"),
        ("agent", "a1"),
    ):
        stored = cli(f"--{layer}", name, "add", f"note of {layer}", "--layer", layer, "--json").json
        assert stored["scope"] == f"{layer}/{name}"


def test_forgetting_a_user_erases_what_was_theirs(cli: Any) -> None:
    cli("--user", "ana", "add", "a diary entry")
    cli("add", "my own note")
    assert "--yes" in cli("forget-user", "ana", code=2).err
    assert cli("forget-user", "ana", "--yes", "--json").json["memories"] == 1
    assert [item["text"] for item in cli("list", "--json").json["items"]] == ["my own note"]
    assert cli("--user", "bob", "forget-user", "tess", "--yes", code=4).out == ""


def test_a_group_called_bare_shows_its_commands(cli: Any) -> None:
    for group, command in (
        ("tenants", "retention"),
        ("tenants", "recursion"),
        ("scopes", "move"),
        ("members", "remove"),
        ("db", "backup"),
    ):
        assert command in cli(group).out
