"""The index: what it knows of a tree, what a second run reads again, and what a broken cache or process costs."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.codebase.index import CodeIndex
from recollect.codebase.outline import draw
from recollect.codebase.pool import parse_files
from recollect.codebase.records import FileRecord
from recollect.codebase.tree import open_tree
from recollect.text.terms import code_terms, identifier_terms, split_identifier
from recollect_bench.codetree import make_tree

FILES = {
    "shop/__init__.py": "",
    "shop/money.py": '''"""Money."""


def round_up(amount):
    """Never to the customer's disadvantage."""
    return int(amount) + 1


class Amount:
    def add(self, other):
        return round_up(self.value + other)
''',
    "shop/orders.py": """from shop.money import Amount, round_up


def total(order):
    return round_up(Amount().add(order.sum))
""",
    "other/money.py": "def round_up(x):\n    return x\n",
    "web/cart.js": "export function total(cart) { return round_up(cart); }\n",
    "web/money.js": "export function round_up(x) { return x; }\n",
    "docs/guide.md": "Rounding goes up.\n",
    "bin/tool": "#!/usr/bin/env python3\ndef main():\n    pass\n",
    "include/list.h": "namespace ds {\nclass List { public: int size(); };\n}\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        put(tmp_path / "tree" / name, text)
    return tmp_path / "tree"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "home" / "cache" / "codebase"


def put(file: Path, text: str, *, age_s: float = 100.0) -> None:
    """Write a file that was last changed a while ago, so that its time stamp can be trusted."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    stamp = time.time_ns() - int(age_s * 1e9)
    os.utime(file, ns=(stamp, stamp))


def opened(root: Path, store: Path, **options: float) -> CodeIndex:
    return CodeIndex.open(open_tree(root), store, **options)  # type: ignore[arg-type]


def test_names_are_found_where_they_are_defined_and_used(root: Path, store: Path) -> None:
    with opened(root, store) as index:
        found = index.definitions("round_up")
        assert [(one.path, one.symbol.start_line) for one in found] == [
            ("other/money.py", 1),
            ("shop/money.py", 4),
            ("web/money.js", 1),
        ]
        assert index.definition(found[1].id) == found[1]
        assert [one.path for one in index.definitions("Amount.add")] == ["shop/money.py"]
        assert index.definitions("Order.add") == []
        assert [
            (one.path, one.reference.line, one.reference.kind) for one in index.references("round_up")
        ] == [
            ("shop/money.py", 11, "call"),
            ("shop/orders.py", 1, "import"),
            ("shop/orders.py", 5, "call"),
            ("web/cart.js", 1, "call"),
        ]
        assert index.references("nobody") == []
        assert [index.files[number].path for number in index.defining_files("total")] == [
            "shop/orders.py",
            "web/cart.js",
        ]


def test_languages_are_told_by_content_where_the_name_does_not(root: Path, store: Path) -> None:
    with opened(root, store) as index:
        languages = {file.path: file.language for file in index.files}
        assert languages["bin/tool"] == "python"
        assert languages["include/list.h"] == "cpp"
        assert languages["docs/guide.md"] is None
        assert [one.symbol.qualified_name for one in index.definitions("List")] == ["ds.List"]
        assert index.symbols("docs/guide.md") is None
        assert index.symbols("none.py") is None
        known = index.symbols("shop/orders.py")
        assert known is not None
        assert [one.module for one in known.imports] == ["shop.money"]


def test_an_import_decides_which_of_several_definitions_is_meant(root: Path, store: Path) -> None:
    with opened(root, store) as index:
        graph = index.graph
        edges = {
            (index.files[source].path, index.files[target].path): float(weight)
            for source, target, weight in zip(graph.sources, graph.targets, graph.weights, strict=True)
        }
    assert edges.keys() == {("shop/orders.py", "shop/money.py"), ("web/cart.js", "web/money.js")}
    assert edges["shop/orders.py", "shop/money.py"] > 2.0


def test_terms_count_for_the_file_and_for_the_innermost_definition(root: Path, store: Path) -> None:
    with opened(root, store) as index:
        rows = index.file_postings("rounding")
        assert [index.files[number].path for number in rows.ids] == ["docs/guide.md"]
        rows = index.definition_postings("disadvantage")
        assert [index.definition(int(id)).symbol.name for id in rows.ids] == ["round_up"]
        rows = index.definition_postings("round_up")
        named = {index.definition(int(id)).symbol.qualified_name for id in rows.ids}
        assert named == {"round_up", "Amount.add", "total"}
        assert len(index.file_lengths) == len(index.files) == len(index.file_lines)
        assert len(index.definition_lengths) == len(index.definition_files)
        assert bool(np.all(np.diff(index.definition_files) >= 0))
        assert index.file_postings("zzz").ids.tolist() == []


def test_the_map_shows_what_others_use_within_its_room(root: Path, store: Path) -> None:
    with opened(root, store) as index:
        drawn = draw(index)
        assert "shop/money.py (11 lines)\n  def round_up(amount) :4-6\n  class Amount :9-11" in drawn
        assert draw(index, folder="web").startswith("web/cart.js")
        small = draw(index, max_tokens=40)
        assert small.startswith("shop/money.py")
        assert "more files" in small


def test_a_second_run_parses_only_what_changed(root: Path, store: Path) -> None:
    with opened(root, store) as index:
        assert index.refreshed.parsed == len(FILES)
    put(root / "shop" / "orders.py", "def sum_up(order):\n    return order\n", age_s=50)
    put(root / "new.py", "def fresh():\n    pass\n")
    (root / "other" / "money.py").unlink()
    (root / "web" / "cart.js").rename(root / "web" / "basket.js")
    with opened(root, store) as index:
        assert (index.refreshed.parsed, index.refreshed.unchanged) == (2, len(FILES) - 3)
        assert [one.path for one in index.definitions("total")] == ["web/basket.js"]
        assert [one.path for one in index.definitions("sum_up")] == ["shop/orders.py"]
        assert "other/money.py" not in {file.path for file in index.files}
    with opened(root, store) as index:
        assert (index.refreshed.parsed, index.refreshed.unchanged) == (0, len(FILES))


def test_a_file_that_was_only_touched_is_read_but_not_parsed(root: Path, store: Path) -> None:
    opened(root, store).close()
    put(root / "shop" / "money.py", FILES["shop/money.py"], age_s=10)
    with opened(root, store) as index:
        assert (index.refreshed.parsed, index.refreshed.unchanged) == (0, len(FILES) - 1)


def test_a_change_within_the_same_moment_is_seen(root: Path, store: Path) -> None:
    """Same size, same time stamp, same inode: the time stamp was too young to be trusted."""
    file = root / "young.py"
    put(file, "def one(): pass\n", age_s=0)
    stamp = file.stat().st_mtime_ns
    opened(root, store).close()
    file.write_text("def two(): pass\n")
    os.utime(file, ns=(stamp, stamp))
    with opened(root, store) as index:
        assert [one.symbol.name for one in index.definitions("two")] == ["two"]


def test_trees_share_records_but_nothing_else(root: Path, store: Path, tmp_path: Path) -> None:
    opened(root, store).close()
    put(tmp_path / "copy" / "a.py", FILES["shop/money.py"])
    with opened(tmp_path / "copy", store) as index:
        assert index.refreshed.parsed == 0
        assert [one.path for one in index.definitions("round_up")] == ["a.py"]


def test_time_that_is_up_leaves_files_for_the_next_run(root: Path, store: Path) -> None:
    with opened(root, store, deadline_s=0.0) as index:
        late = [note.path for note in index.skipped if "the time was up" in note.why]
        assert len(late) + len(index.files) == len(FILES)
        assert index.files
        assert late
    with opened(root, store) as index:
        assert index.refreshed.parsed == len(late)
        assert len(index.files) == len(FILES)


def test_a_damaged_cache_is_made_anew(root: Path, store: Path) -> None:
    opened(root, store).close()
    file = next(store.glob("symbols-*.sqlite"))
    for other in store.glob("symbols-*.sqlite-*"):
        other.unlink()
    file.write_bytes(b"this is no database" * 100)
    with opened(root, store) as index:
        assert index.refreshed.parsed == len(FILES)
    with sqlite3.connect(file) as connection:
        assert connection.execute("select count(*) from file").fetchone() == (len(FILES),)
    connection.close()


def test_a_place_that_cannot_be_written_costs_only_the_next_run(root: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, not a folder")
    with opened(root, tmp_path / "home" / "cache") as index:
        assert len(index.files) == len(FILES)
        assert "can't be kept" in index.skipped[-1].why


def test_an_empty_tree_has_an_empty_index(tmp_path: Path, store: Path) -> None:
    (tmp_path / "empty").mkdir()
    with opened(tmp_path / "empty", store) as index:
        assert list(index.files) == []
        assert index.definitions("x") == []
        assert draw(index) == ""
        assert len(index.graph.sources) == 0


def test_several_threads_ask_at_once(root: Path, store: Path) -> None:
    wrong: list[object] = []
    with opened(root, store) as index:

        def ask() -> None:
            for _ in range(50):
                found = len(index.definitions("round_up")), len(index.references("round_up"))
                if found != (3, 4):
                    wrong.append(found)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_processes_that_are_killed_cost_one_file_each(tmp_path: Path) -> None:
    make_tree(tmp_path, lines=16_000)
    files = open_tree(tmp_path).files()
    found: dict[str, FileRecord | str] = {}
    killed = 0
    for path, _, record in parse_files(tmp_path, files, workers=2):
        assert path not in found
        found[path] = record
        if killed < 2:
            for child in children():
                os.kill(child, signal.SIGKILL)
                killed += 1
    assert found.keys() == {file.path for file in files}
    assert killed >= 2
    broken = [record for record in found.values() if isinstance(record, str)]
    assert broken == ["its parser ended or hung on it"] * len(broken)
    assert len(broken) <= killed


def children() -> list[int]:
    found = []
    for task in Path("/proc/self/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return [
        child
        for child in found
        if b"recollect.codebase.worker" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("parseHTTPRequest", ("parse", "http", "request")),
        ("parse_http_request", ("parse", "http", "request")),
        ("HTML5Parser", ("html", "parser")),
        ("__init__", ("init",)),
        ("x", ()),
        ("größeÄndern", ("größe", "ändern")),
    ],
)
def test_identifiers_are_split_at_case_and_underscores(name: str, parts: tuple[str, ...]) -> None:
    assert split_identifier(name) == parts


def test_an_identifier_of_several_parts_is_a_term_itself() -> None:
    assert identifier_terms("loadFile") == ("load", "file", "loadfile")
    assert code_terms("loadFile(path) # loads") == ["load", "file", "loadfile", "path", "loads"]


@given(st.text(max_size=40))
def test_terms_are_lower_case_and_never_empty(text: str) -> None:
    assert all(term == term.lower() and len(term) > 1 for term in code_terms(text))


def test_where_no_process_can_be_started_files_are_parsed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tree(tmp_path, lines=12_000)
    files = open_tree(tmp_path).files()
    for program in ("/nowhere/python", "/bin/true"):
        monkeypatch.setattr("sys.executable", program)
        found = [record for _, _, record in parse_files(tmp_path, files, workers=2)]
        assert len(found) == len(files)
        assert all(isinstance(record, FileRecord) for record in found)


def test_giving_up_early_ends_the_processes(tmp_path: Path) -> None:
    make_tree(tmp_path, lines=16_000)
    results = parse_files(tmp_path, open_tree(tmp_path).files(), workers=2)
    next(results)
    assert children()
    results.close()
    assert children() == []


def test_a_file_that_could_not_be_read_is_tried_again(root: Path, store: Path) -> None:
    tree = open_tree(root)
    assert tree.find("shop/money.py") is not None
    (root / "shop" / "money.py").rename(root / "shop" / "away.txt")
    (root / "shop" / "money.py").mkdir()
    with CodeIndex.open(tree, store) as index:
        assert "shop/money.py" not in {file.path for file in index.files}
    (root / "shop" / "money.py").rmdir()
    (root / "shop" / "away.txt").rename(root / "shop" / "money.py")
    with opened(root, store) as index:
        assert "shop/money.py" in {file.path for file in index.files}


def test_what_one_process_takes_away_another_still_has(root: Path, store: Path) -> None:
    """Two look at one tree; it changes, and the second makes new arrays in place of the first one's."""
    with opened(root, store) as first:
        put(root / "new.py", "def fresh():\n    pass\n")
        opened(root, store).close()
        assert [one.path for one in first.definitions("round_up")][1] == "shop/money.py"
        assert draw(first)
    assert len(list((store / "trees").glob("*/*"))) == 1
