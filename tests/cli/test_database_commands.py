"""db, doctor, sweep, reembed, settings, completion."""

from __future__ import annotations

import json
import lzma
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, Settings
from recollect.storage import embedded

RELEASED = Path(__file__).parents[1] / "storage" / "released"
NewHome = Callable[[], AbstractContextManager[Path]]


@pytest.fixture
def own_home(cli: Any, new_home: NewHome) -> Iterator[Any]:
    """A home that a test may stop, break and fill; the tenant is `local`."""
    with new_home() as home:
        embedded.ensure_running(home, sync=False, settings={"fsync": "off", "full_page_writes": "off"})
        own = {"RECOLLECT_HOME": str(home), "RECOLLECT_DATABASE_URL": "", "RECOLLECT_TENANT": ""}
        yield type(cli)({**cli.environ, **own})


def test_a_database_is_started_looked_at_and_stopped(own_home: Any) -> None:
    own_home("db", "stop")
    assert own_home("db", "status", "--json").json["server"]["running"] is False
    assert own_home("db", "start", "--json").json["server"]["running"] is True
    own_home("add", "something")
    found = own_home("db", "status", "--json").json
    assert found["server"]["running"] is True
    assert found["store"]["memories"] == 1
    assert "running\tyes" in own_home("db", "status").out
    assert own_home("db", "migrate", "--json").json["schema_version"] == found["store"]["schema_version"]
    assert own_home("db", "stop", "--json").json == {"stopped": True}
    assert own_home("db", "stop").out == "it was not running\n"
    assert len(own_home("list", "--json").json["items"]) == 1


def test_a_backup_brings_everything_back(own_home: Any, tmp_path: Path) -> None:
    own_home("add", "kept")
    file = tmp_path / "store.backup"
    report = own_home("db", "backup", str(file), "--json").json
    assert report["size_bytes"] == file.stat().st_size
    own_home("db", "backup", str(file), code=5)
    own_home("db", "backup", str(file), "--force")
    own_home("add", "added later")
    assert "--yes" in own_home("db", "restore", str(file), code=2).err
    own_home("db", "restore", str(file), "--yes")
    assert [item["text"] for item in own_home("list", "--json").json["items"]] == ["kept"]
    assert "no backup file" in own_home("db", "restore", str(tmp_path / "none"), "--yes", code=2).err
    broken = tmp_path / "broken.backup"
    broken.write_bytes(file.read_bytes()[:100])
    own_home("db", "restore", str(broken), "--yes", code=7)
    old = tmp_path / "old.backup"
    old.write_bytes(lzma.decompress((RELEASED / "schema_8.backup.xz").read_bytes()))
    assert (
        "`recollect export` it with the version" in own_home("db", "restore", str(old), "--yes", code=7).err
    )
    assert [item["text"] for item in own_home("list", "--json").json["items"]] == ["kept"]


def test_an_index_is_built_once_and_tables_are_rewritten(own_home: Any) -> None:
    own_home("add", "something to find")
    assert own_home("db", "index", "--json").json == {"built": True}
    assert own_home("db", "index").out == "the vector index is there already\n"
    assert own_home("db", "compact", "--json").json["freed_bytes"] >= 0
    assert own_home("search", "something to find", "--json").json["hits"][0]["text"] == "something to find"
    assert "operator" in own_home("--user", "ana", "db", "compact", code=4).err


def test_psql_is_the_application_role_unless_asked_to_be_the_owner(cli: Any) -> None:
    query = ("-At", "-c", "select current_user, (select count(*) from recollect.memory)")
    cli("add", "something")
    assert cli.process("db", "psql", *query).out == "recollect_app|0\n"
    owner, memories = cli.process("db", "psql", "--owner", *query).out.strip().split("|")
    assert owner != "recollect_app"
    assert int(memories) > 0


def test_the_password_of_psql_is_not_on_its_command_line(store: Recollect, settings: Settings) -> None:
    from psycopg.conninfo import conninfo_to_dict

    from recollect.storage.endpoint import open_door
    from recollect.surfaces.cli.database import psql_call

    door = open_door(settings.home, settings.database_url)
    for owner, conninfo in ((False, door.app), (True, door.owner)):
        password = conninfo_to_dict(conninfo or "")["password"]
        command, environment = psql_call(door, owner=owner)
        assert password not in " ".join(command)
        assert environment["PGPASSWORD"] == password


def test_a_database_by_url_is_not_ours_to_start_or_stop(cli: Any) -> None:
    for verb in ("start", "stop"):
        done = cli("--database-url", "postgresql://u:p@127.0.0.1:1/x", "db", verb, code=2)
        assert f"ours to {verb}" in done.err


def test_the_doctor_finds_a_healthy_store_healthy(cli: Any, new_home: NewHome) -> None:
    with new_home() as home:
        own = type(cli)(
            {**cli.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_DATABASE_URL": "", "RECOLLECT_TENANT": ""}
        )
        assert own("doctor", "--json").json["ok"] is True
        assert {line.split("\t")[0] for line in own("doctor").out.splitlines()} == {"ok"}


def test_the_doctor_kills_a_throw_away_database_when_asked_and_nothing_is_lost(
    cli: Any, new_home: NewHome
) -> None:
    with new_home() as home:
        own = type(cli)(
            {**cli.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_DATABASE_URL": "", "RECOLLECT_TENANT": ""}
        )
        own("db", "start")
        pid = embedded.status(home).pid
        found = own.process("doctor", "--crash", "--rounds", "3", "--json").json
        assert embedded.status(home).pid == pid  # the store itself is left alone
    crash, indexes = found["checks"][-2:]  # the indexes of the database that was killed
    assert (crash["name"], crash["ok"]) == ("crash", True)
    assert (indexes["name"], indexes["ok"]) == ("indexes after crashes", True)
    assert re.match(
        r"3 rounds of kill -9 under 3 writers: 0 of \d+ acknowledged memories lost", crash["detail"]
    )


def test_the_doctor_attacks_the_walls_when_asked_and_they_hold(own_home: Any) -> None:
    checks = own_home("doctor", "--isolation", "--json", code=9).json["checks"]
    # This store is run without syncing, which the doctor sees; everything else is well.
    assert [check["name"] for check in checks if not check["ok"]] == ["durability"]
    attacks = [check for check in checks if check["name"].startswith("isolation")]
    assert len(attacks) > 10


def test_the_doctor_says_what_is_wrong_and_what_to_do(own_home: Any) -> None:
    found = own_home("doctor", "--json", code=9).json
    wrong = [check for check in found["checks"] if not check["ok"]]
    assert found["ok"] is False
    assert [check["name"] for check in wrong] == ["durability"]
    line = next(line for line in own_home("doctor", code=9).out.splitlines() if line.startswith("not ok"))
    assert line.split("\t")[1:] == ["durability", wrong[0]["detail"], wrong[0]["advice"]]
    assert wrong[0]["advice"]


def test_sweep_erases_what_is_past_its_retention(cli: Any, remember: Callable[..., str]) -> None:
    remember("old", "--created-at", "2020-01-01")
    kept = remember("new")
    cli("tenants", "retention", "user", "30")
    assert cli("sweep", "--json").json["memories"] == 1
    assert [item["id"] for item in cli("list", "--json").json["items"]] == [kept]


def test_reembed_moves_the_store_to_another_embedder(own_home: Any) -> None:
    own_home("add", "the train leaves on Tuesday")
    other = {"RECOLLECT_EMBEDDER": "minilm"}
    assert own_home("add", "x", "--json", code=6, **other).error["code"] == "embedder_mismatch"
    report = own_home("reembed", "minilm", "--json", **other).json
    assert report["embedded"] == 1
    own_home("add", "x", **other)


def test_settings_say_where_a_value_comes_from_and_hide_secrets(cli: Any) -> None:
    url = "postgresql://ana:hush@db.example:5432/x"
    rows = {row["name"]: row for row in cli("--database-url", url, "settings", "--json").json}
    assert rows["embedder"]["value"] == "wordllama"
    assert rows["embedder"]["source"] == "RECOLLECT_EMBEDDER"
    assert rows["pool_size"]["source"] == "default"
    assert "hush" not in json.dumps(rows)
    assert cli("settings").out.splitlines()[0].startswith("home\t")
    assert "RECOLLECT_POOL_SIZE" in cli("settings", code=2, RECOLLECT_POOL_SIZE="many").err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed(cli: Any, shell: str) -> None:
    assert "_RECOLLECT_COMPLETE" in cli("completion", shell).out
    assert cli("completion", shell, "--json").json["shell"] == shell


def test_a_completion_script_is_installed_where_the_shell_looks(cli: Any, tmp_path: Path) -> None:
    done = cli("completion", "fish", "--install", "--json", HOME=str(tmp_path))
    assert Path(done.json["file"]).is_relative_to(tmp_path)
    assert "_RECOLLECT_COMPLETE" in Path(done.json["file"]).read_text()
    assert "no completion for shell 'tcsh'" in cli("completion", "tcsh", code=2).err


def test_the_shell_gets_the_commands_and_options_it_asks_for() -> None:
    def completed(line: str, word: int) -> str:
        environ = {
            **os.environ,
            "_RECOLLECT_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(word),
        }
        command = [sys.executable, "-c", "from recollect.surfaces.cli.main import run; run()"]
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False).stdout

    assert "search" in completed("recollect sea", 1).split()
    assert "--threshold" in completed("recollect search --thr", 2).split()
    assert "backup" in completed("recollect db ba", 2).split()
