"""What a person sees: the real command on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.system  # each command is a process with a terminal of its own

STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(cli: Any, *args: str, answer: str = "", columns: int = 100) -> tuple[int, str]:
    """The exit code and the screen, with styles. `answer` is typed when a question ends in `]: `."""
    controller, terminal = pty.openpty()
    environ = {**os.environ, **cli.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "50"}
    environ.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect.surfaces.cli.main", *args],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environ,
        close_fds=True,
    )
    os.close(terminal)
    screen = b""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if not select.select([controller], [], [], 1)[0]:
            continue
        try:
            piece = os.read(controller, 65536)
        except OSError:
            break
        if not piece:
            break
        screen += piece
        if answer and screen.rstrip(b" ").endswith(b"]:"):
            os.write(controller, answer.encode())
            answer = ""
    os.close(controller)
    return process.wait(timeout=60), screen.decode().replace("\r\n", "\n")


def test_memories_are_drawn_as_a_table_and_never_as_markup(cli: Any, remember: Callable[..., str]) -> None:
    remember("the [bold]build[/bold] is \x1b[2Jbroken :smile: [link=x]y[/link]")
    code, screen = on_terminal(cli, "list", columns=160)
    text = STYLE.sub("", screen)
    assert code == 0
    assert "the [bold]build[/bold] is \\x1b[2Jbroken :smile: [link=x]y[/link]" in text
    assert "\x1b[2J" not in screen
    assert "\x1b[" in screen
    assert all(word in text for word in ("when", "where", "memory"))


def test_long_texts_are_wrapped_and_shown_whole(cli: Any, remember: Callable[..., str]) -> None:
    words = [f"word{number}" for number in range(120)]
    remember(" ".join(words))
    _, screen = on_terminal(cli, "search", "word1 word2 word3", "--threshold", "0")
    assert all(word in STYLE.sub("", screen).split() for word in words)


def test_a_search_says_how_long_it_took_and_what_to_do_when_nothing_is_found(
    cli: Any, remember: Callable[..., str]
) -> None:
    remember("The kiln cools overnight")
    code, screen = on_terminal(cli, "search", "anything at all")
    assert code == 0
    text = STYLE.sub("", screen)
    assert "--threshold 0" in text
    assert re.search(r"0 found in \d+ ms", text)


def test_deleting_asks_and_no_keeps_the_memory(cli: Any, remember: Callable[..., str]) -> None:
    id = remember("dear to me")
    code, screen = on_terminal(cli, "delete", id, answer="n\n")
    assert "Erase this memory for good? [y/N]:" in screen
    assert code == 130
    cli("get", id)
    code, screen = on_terminal(cli, "delete", id, answer="y\n")
    assert code == 0
    assert "1 memory" in screen
    cli("get", id, code=3)


def test_importing_shows_a_progress_bar(cli: Any, tmp_path: Any) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("".join(f'{{"text": "memory {number}"}}\n' for number in range(300)))
    code, screen = on_terminal(cli, "import", str(file))
    assert code == 0
    assert "importing" in screen
    assert "300 added" in STYLE.sub("", screen)


def test_one_memory_is_shown_with_its_text_first(cli: Any, remember: Callable[..., str]) -> None:
    id = remember("two\nlines", "--metadata", '{"a": 1}')
    _, screen = on_terminal(cli, "get", id)
    text = STYLE.sub("", screen)
    assert text.startswith("two\nlines\n")
    assert id in text


def test_json_on_a_terminal_is_indented_and_without_style(cli: Any, remember: Callable[..., str]) -> None:
    remember("x")
    _, screen = on_terminal(cli, "list", "--json")
    assert screen.startswith('{\n  "items": [')
    assert "\x1b" not in screen


def test_steps_are_drawn_while_a_consultation_and_an_exploration_go_on(cli: Any, tmp_path: Any) -> None:
    (tmp_path / "guide.md").write_text("# Tokens\n\nA token expires after 15 minutes.\n")
    (tmp_path / "tokens.py").write_text("def expire(token):\n    return token.age > 15\n")
    cli("library", "add", str(tmp_path / "guide.md"))
    code, screen = on_terminal(cli, "consult", "When does a token expire?", "--depth", "thorough")
    assert code == 0
    assert "query_subset(*, When does a token expire?)" in STYLE.sub("", screen)
    code, screen = on_terminal(cli, "explore", str(tmp_path), "where do tokens expire?")
    assert code == 0
    assert "outline(" in STYLE.sub("", screen)
