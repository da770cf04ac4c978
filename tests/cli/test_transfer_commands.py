"""import and export."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_an_export_imported_elsewhere_gives_the_same_memories(
    cli: Any, remember: Callable[..., str], tmp_path: Path
) -> None:
    remember("first", "--metadata", '{"a": [1, "ü"]}', "--created-at", "2026-01-02")
    remember("second", "--type", "procedural", "--trigger", "it rains", "--action", "take a coat")
    file = tmp_path / "memories.jsonl"
    assert cli("export", str(file), "--json").json == {"exported": 2, "file": str(file)}
    other = f"other-{uuid.uuid4().hex[:8]}"
    cli("tenants", "create", other)
    report = cli("--tenant", other, "import", str(file), "--json").json
    assert (report["added"], report["errors"]) == (2, [])
    again = cli("--tenant", other, "import", str(file)).out
    assert again == "0 added, 2 known already\n"

    def contents(tenant: list[str]) -> list[Any]:
        items = cli(*tenant, "list", "--json").json["items"]
        return [{**item, "tenant_id": "", "updated_at": ""} for item in items]

    assert contents(["--tenant", other]) == contents([])


def test_export_writes_json_lines_to_standard_output(cli: Any, remember: Callable[..., str]) -> None:
    id = remember("a line")
    lines = [json.loads(line) for line in cli("export", "--json").out.splitlines()]
    assert id in {line.get("id") for line in lines}


def test_export_does_not_overwrite_unless_forced(
    cli: Any, remember: Callable[..., str], tmp_path: Path
) -> None:
    remember("a line")
    file = tmp_path / "memories.jsonl"
    file.write_text("precious")
    assert "--force" in cli("export", str(file), code=2).err
    assert file.read_text() == "precious"
    cli("export", str(file), "--force")
    assert "a line" in file.read_text()
    assert "does not exist" in cli("export", str(tmp_path / "no" / "folder.jsonl"), code=2).err


def test_broken_lines_are_named_by_number_and_the_rest_is_stored(cli: Any) -> None:
    lines = (
        b'{"text": "one"}\n{broken\n{"text": "caf\xe9"}\n{"text": "", "importance": 2}\n{"text": "five"}\n'
    )
    done = cli("import", "-", input=lines, code=8)
    assert done.out == "2 added, 3 not stored\n"
    assert [line.split()[2].rstrip(":") for line in done.err.splitlines()] == ["2", "3", "4"]
    assert {item["text"] for item in cli("list", "--json").json["items"]} == {"one", "five"}


def test_in_json_mode_the_broken_lines_are_in_the_report(cli: Any) -> None:
    done = cli("import", "-", "--json", input='{"text": "one"}\nnull\n', code=8)
    assert [error["index"] for error in done.json["errors"]] == [2]
    assert done.err == ""


def test_a_file_that_is_not_there_is_named(cli: Any) -> None:
    assert "no-such.jsonl" in cli("import", "no-such.jsonl", code=2).err


def test_the_export_of_another_package_is_imported_once(cli: Any, tmp_path: Path) -> None:
    items = [{"id": str(uuid.uuid4()), "memory": f"Note {n}.", "user_id": "ana"} for n in range(2)]
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": items}))
    assert cli("import", "--from", "mem0", str(file)).out == "2 added\n"
    assert cli("import", "--from", "mem0", "-", input=file.read_bytes()).out == "0 added, 2 known already\n"
    assert cli("get", items[0]["id"], "--json").json["scope"] == "user/ana"
    dump = tmp_path / "chroma.json"
    dump.write_text(json.dumps({"ids": ["a"], "documents": ["A note of Chroma."], "metadatas": [None]}))
    report = cli("import", "--from", "chroma", str(dump), "--scope", "user/bo", "--json").json
    assert (report["added"], report["errors"]) == (1, [])
    assert cli("list", "--scope", "user/bo", "--json").json["items"][0]["text"] == "A note of Chroma."


def test_broken_entries_of_another_package_are_named_and_nothing_is_stored(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([{"id": "a", "memory": "Fine."}, {"id": "b", "memory": ""}]))
    refused = cli("import", "--from", "mem0", str(file), code=2)
    assert refused.out == ""
    assert "entry 2 (b): " in refused.err
    assert "--skip-broken" in refused.err
    assert cli("list", "--json").json["items"] == []
    assert cli("import", "--from", "mem0", str(file), "--json", code=2).json["errors"][0]["index"] == 2
    done = cli("import", "--from", "mem0", str(file), "--skip-broken", code=8)
    assert done.out == "1 added, 1 not stored\n"
    assert [item["text"] for item in cli("list", "--json").json["items"]] == ["Fine."]


def test_options_for_other_packages_need_one(cli: Any, tmp_path: Path) -> None:
    assert "--from" in cli("import", "-", "--skip-broken", input=b"", code=2).err
    assert "'pinecone'" in cli("import", "--from", "pinecone", str(tmp_path), code=2).err
