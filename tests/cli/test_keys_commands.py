"""`recollect keys`: a token is shown once, and ends when it should."""

from __future__ import annotations

from typing import Any

import pytest

from recollect import Recollect
from recollect.domain.tenancy import PREFIX


def test_a_key_is_made_listed_rotated_and_revoked(cli: Any, client: Recollect) -> None:
    made = cli("keys", "create", "support-bot", "--user", "ana", "--role", "lead:team/api", "--json").json
    assert made["token"].startswith(PREFIX)
    assert (made["key"]["name"], made["key"]["user_id"], made["key"]["roles"]) == (
        "support-bot",
        "ana",
        ["lead:team/api"],
    )
    assert client.keys.context_of(made["token"]).user_id == "ana"

    listed = cli("keys", "list")
    assert made["key"]["id"] in listed.out
    assert made["token"] not in listed.out
    assert "user ana, lead:team/api\tactive\tnever\t" in listed.out

    rotated = cli("keys", "rotate", made["key"]["id"]).out.strip()
    assert rotated.startswith(PREFIX)
    assert rotated != made["token"]
    states = {key["id"]: key["revoked_at"] is None for key in cli("keys", "list", "--json").json}
    assert states.pop(made["key"]["id"]) is False
    [new] = states
    revoked = cli("keys", "revoke", new, "--yes", "--json").json
    assert revoked["revoked_at"] is not None


def test_the_token_alone_goes_into_a_pipe(cli: Any) -> None:
    done = cli("keys", "create", "ci", "--agent", "builder", "--days", "90")
    assert done.out.startswith(PREFIX)
    assert len(done.out.split()) == 1
    assert "shown only now" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["create", "bot"], 2, "speaks for nobody"),
        (["create", "bot", "--user", "a", "--days", "3", "--expires", "2099-01-01"], 2, "not both"),
        (["create", "bot", "--user", "a", "--role", "king"], 2, "unknown role"),
        (["revoke", "no-id", "--yes"], 2, "no-id"),
        (["rotate", "01890000-0000-7000-8000-000000000000"], 3, "no key"),
    ],
)
def test_what_makes_no_sense_is_said(cli: Any, arguments: list[str], code: int, said: str) -> None:
    assert said in cli("keys", *arguments, code=code).err
