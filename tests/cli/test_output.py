"""What is printed is safe, whole and readable by programs."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.codec import encode
from recollect.domain.layers import Layer
from recollect.surfaces.cli.output import moment, one_line, to_json, visible


@given(st.text())
def test_no_control_character_reaches_a_terminal(text: str) -> None:
    for letter in visible(text):
        assert letter in "\n\t" or unicodedata.category(letter) != "Cc"
    assert not any(unicodedata.category(letter) in {"Cc", "Zl", "Zp"} for letter in one_line(text))
    assert not any(0x7F <= ord(letter) <= 0x9F or ord(letter) < 0x20 for letter in to_json(text))


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs",))))
def test_json_gives_back_every_text(text: str) -> None:
    assert json.loads(to_json({"text": text})) == {"text": text}


@given(st.text(alphabet=st.characters(whitelist_categories=("L", "N", "P", "Zs"))))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert visible(text) == text


def test_escape_sequences_and_text_that_runs_backwards_are_spelled_out() -> None:
    assert visible("\x1b[31mred\x9b0m \u202eevil") == "\\x1b[31mred\\x9b0m \\u202eevil"
    assert one_line("a\r\nb\tc\rd") == "a\\nb\\tc\\x0dd"


def test_values_of_the_domain_become_plain_data() -> None:
    id = UUID("0199d3c2-0000-7000-8000-000000000000")
    value = {Layer.TEAM: [id, Path("/x"), datetime(2026, 5, 8, tzinfo=UTC), (1, None, True)]}
    assert encode(value) == {"team": [str(id), "/x", "2026-05-08T00:00:00+00:00", [1, None, True]]}


def test_midnight_is_shown_as_a_day() -> None:
    assert moment(datetime(2026, 5, 8, tzinfo=UTC)) == "2026-05-08"
    assert moment(datetime(2026, 5, 8, 14, 30, tzinfo=UTC)) == "2026-05-08 14:30"
    assert moment(None) == ""


def test_reading_a_command_line_loads_nothing_heavy() -> None:
    program = (
        "import sys; from recollect.surfaces.cli.main import app; from typer.main import get_command\n"
        "try: get_command(app).main(['search', 'x', '--limit', '0'], prog_name='recollect')\n"
        "except SystemExit: pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(eval(done.stdout))
    assert "typer" in loaded
    assert not loaded & {"pydantic", "rich", "psycopg", "numpy", "onnxruntime", "wordllama"}
