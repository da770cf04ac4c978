"""`TASKS.md` lists what the tests of this folder do, one line each, in their words."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent
_TITLES = {
    "test_command_line": "At a shell",
    "test_python": "In Python",
    "test_server": "With a server",
    "test_pages": "In a browser",
    "test_integrations": "With other packages",
}


def listed() -> str:
    lines = ["# Forty tasks of a new user", "", "Each is a test in this folder, through a public door."]
    number = 0
    for name, title in _TITLES.items():
        lines += ["", f"## {title}", ""]
        for node in ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                number += 1
                lines.append(f"{number}. {ast.get_docstring(node)}")
    return "\n".join(lines) + "\n"


def test_the_list_names_forty_tasks_and_every_one_is_a_test() -> None:
    text = (FOLDER / "TASKS.md").read_text(encoding="utf-8")
    assert text == listed(), "run `python tests/tasks/test_the_list.py` to write it"
    assert text.count("\n40. ") == 1
    assert "\n41. " not in text


if __name__ == "__main__":
    (FOLDER / "TASKS.md").write_text(listed(), encoding="utf-8")
