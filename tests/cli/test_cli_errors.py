"""How commands fail: exit codes, one line, JSON, broken pipes, interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from recollect import errors
from recollect.surfaces.cli.output import EXIT_CODES, exit_code, report_error

FAMILIES = {
    errors.InvalidInputError: 2,
    errors.NotFoundError: 3,
    errors.UnauthorizedError: 4,
    errors.ForbiddenError: 4,
    errors.ConflictError: 5,
    errors.EmbedderError: 6,
    errors.StoreError: 7,
}


def _tree(cls: type[errors.RecollectError]) -> list[type[errors.RecollectError]]:
    return [cls, *(below for child in cls.__subclasses__() for below in _tree(child))]


def test_every_error_has_the_exit_code_of_its_family() -> None:
    for family, number in FAMILIES.items():
        for cls in _tree(family):
            assert EXIT_CODES[cls.code] == number, cls
    assert {cls.code for cls in _tree(errors.RecollectError)} <= set(EXIT_CODES)


def test_an_error_code_nobody_knows_counts_as_unexpected() -> None:
    assert exit_code("from_the_future") == 1


def test_an_unexpected_error_is_one_line_and_a_traceback_only_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECOLLECT_DEBUG", raising=False)
    assert report_error(ValueError("odd\nthing"), as_json=False) == 1
    assert capsys.readouterr().err == (
        "recollect: unexpected ValueError: odd\\nthing; RECOLLECT_DEBUG=1 shows where\n"
    )
    monkeypatch.setenv("RECOLLECT_DEBUG", "1")
    report_error(ValueError("odd"), as_json=False)
    assert "ValueError: odd\nrecollect:" in capsys.readouterr().err


@pytest.mark.parametrize("args", [["--json", "get", "42"], ["get", "--json", "42"], ["get", "42", "--json"]])
def test_json_may_stand_before_and_after_the_command(cli: Any, args: list[str]) -> None:
    done = cli(*args, code=2)
    assert done.error["code"] == "invalid_input"
    assert done.out == ""


def test_who_asks_may_be_said_before_and_behind_the_command(cli: Any) -> None:
    cli("--user", "ana", "add", "Ana likes tea.")
    cli("add", "Ben likes coffee.", "--user", "ben")
    for user, text in (("ana", "Ana likes tea."), ("ben", "Ben likes coffee.")):
        for args in (["--user", user, "list"], ["list", "--user", user], ["list", "--user", user, "--json"]):
            assert [item["text"] for item in cli("--json", *args).json["items"]] == [text], args
    assert "no tenant 'nobody'" in cli("search", "x", "--tenant", "nobody", code=3).err
    assert "--tenant" not in cli("search", "--help").out


def test_json_after_two_dashes_is_text(cli: Any) -> None:
    assert cli("add", "--", "--json").out.strip()
    assert [item["text"] for item in cli("list", "--json").json["items"]] == ["--json"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["serch", "x"], "Did you mean 'search'"),
        (["frobnicate"], "no such command 'frobnicate'"),
        (["search"], "missing argument"),
        (["search", "x", "--limt", "3"], "no such option"),
        (["db", "explode"], "no such command 'explode'"),
        (["--role"], "--role"),
    ],
)
def test_a_mistyped_command_line_is_one_line_with_advice(cli: Any, args: list[str], words: str) -> None:
    done = cli(*args, code=2)
    assert words in done.err
    assert done.err.startswith("recollect: ")
    assert done.err.count("\n") == 1
    assert cli("--json", *args, code=2).error["code"] == "usage"


def test_a_wrong_database_url_names_what_is_wrong(cli: Any) -> None:
    done = cli("--database-url", "postgresql://x:hush@127.0.0.1:1/z", "list", "--json", code=7)
    assert done.error["code"] == "store_unreachable"
    assert "hush" not in done.err
    done = cli("--database-url", "mysql://x:hush@h/z", "list", "--json", code=2)
    assert done.error["code"] == "invalid_configuration"
    assert "hush" not in done.err


def test_a_home_that_is_a_file_is_refused(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "home"
    file.write_text("not a folder")
    done = cli("--home", str(file), "list", "--json", code=7)
    assert done.error["code"].startswith("store_")
    assert file.read_text() == "not a folder"


def test_an_embedder_that_does_not_exist_is_refused(cli: Any) -> None:
    done = cli("add", "x", "--json", code=2, RECOLLECT_EMBEDDER="telepathy")
    assert "telepathy" in done.error["message"]


def test_no_command_shows_the_help(cli: Any) -> None:
    done = cli()
    for word in ("Memories:", "Who sees what:", "The store:", "search", "--tenant"):
        assert word in done.out
    assert cli("--version").out.startswith("recollect ")
    assert set(cli("--version", "--json").json) == {"recollect"}


def test_no_command_is_an_error_where_a_document_was_asked_for(cli: Any) -> None:
    for args in (["--json"], ["--json", "db"]):
        done = cli(*args, code=2)
        assert done.out == ""
        assert "name a command" in done.error["message"]


def test_the_log_goes_to_standard_error_from_the_level_that_is_set() -> None:
    program = (
        "import logging, sys; from recollect.surfaces.cli.invocation import _log_to_stderr\n"
        "_log_to_stderr(sys.argv[1])\n"
        "logging.getLogger('recollect.x').warning('ours'); logging.getLogger('psycopg.pool').warning('theirs')"
    )

    def logged(level: str) -> str:
        command = [sys.executable, "-c", program, level]
        return subprocess.run(command, capture_output=True, text=True, check=True).stderr

    assert logged("warning") == "recollect: WARNING: ours\n"
    assert logged("error") == ""
    assert logged("debug") == "recollect: WARNING: ours\nrecollect: WARNING: theirs\n"


def test_every_command_has_help_with_a_sentence_for_each_option(cli: Any) -> None:
    from recollect.surfaces.cli.main import COMMANDS

    for command in COMMANDS:
        if command != "bench":
            page = cli(command, "--help").out
            assert page.startswith(f"Usage: recollect {command}")
            assert "..." not in page.partition("Commands:")[2]


def test_a_reader_that_leaves_early_is_no_error(cli: Any) -> None:
    cli(
        "import",
        "-",
        input="".join(json.dumps({"text": f"memory {n} " + "x" * 400}) + "\n" for n in range(400)),
    )
    command = f"'{sys.executable}' -m recollect.surfaces.cli.main export | head -c 100"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        capture_output=True,
        env={**os.environ, **cli.environ},
        check=False,
    )
    assert done.returncode in {0, 141}
    assert done.stderr == b""
    assert len(done.stdout) == 100


def test_ctrl_c_ends_with_130_and_without_a_traceback(cli: Any, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect.surfaces.cli.main", "add", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **cli.environ},
        # A test run in the background inherits a shell's "ignore Ctrl+C", which Python would respect.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        # It waits for standard input as soon as it has loaded; before that an interrupt is Python's own.
        deadline = time.monotonic() + 60
        while _state(process.pid) != "reads" and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err


def _state(pid: int) -> str:
    """Whether a process sleeps in a read of a pipe, as Linux tells it."""
    try:
        waits = Path(f"/proc/{pid}/wchan").read_text()
        stack = Path(f"/proc/{pid}/syscall").read_text().split()
    except (OSError, PermissionError):
        return "unknown"
    # System call 0 is read on x86-64, 63 on arm64; the first argument is the descriptor.
    return "reads" if stack[:2] in (["0", "0x0"], ["63", "0x0"]) or "pipe_read" in waits else "runs"


def test_text_in_any_script_survives_an_ascii_terminal(cli: Any) -> None:
    cli("add", "東京デポは日曜日に休み")
    done = cli.process("list", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert "\\u6771\\u4eac" in done.out
    document = cli.process("list", "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert document.json["items"][0]["text"] == "東京デポは日曜日に休み"
