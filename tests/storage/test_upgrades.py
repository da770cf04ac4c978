"""Stores that older programs wrote: each opens, becomes like a new one, finds what it found, and has lost nothing.

`released/` has a backup of a small store for every schema that can be upgraded, and the last one that can't, each
written by the program of its time: before a migration is added,
`python -m tests.storage.test_upgrades tests/storage/released` writes the one of today.
"""

from __future__ import annotations

import lzma
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.storage.catalogue import catalogue
from tests.storage.test_migrations import migrate_at_once

from recollect import Recollect, Settings
from recollect.storage import embedded, migrations
from recollect.storage.backup import backup, restore
from recollect.storage.endpoint import open_door

RELEASED = {
    int(file.name.split(".")[0].removeprefix("schema_")): file
    for file in (Path(__file__).parent / "released").glob("*.backup.xz")
}
UPGRADED = sorted(version for version in RELEASED if version >= migrations.oldest_version())
OLD = "The spare key is in the red cupboard."
TALK = ("I moved to Lisbon in May.", "How is it there?")
KEPT = {
    "Tom's birthday is on the 4th of June.",
    "The bakery opens at seven.",
    "Imke repairs the boiler.",
    "The spare key is in the blue cupboard.",
    *TALK,
}


def write_store(folder: Path) -> None:
    """Write what this program's stores are like."""
    with embedded.temporary_home() as home:
        with Recollect(settings=Settings(home=home, embedder="wordllama", user="ana")) as client:
            for text in sorted(text for text in KEPT if text not in TALK):
                client.add(text)
            [new] = [memory for memory in client.list() if "blue" in memory.text]
            old, gone = client.add_many([{"text": OLD}, {"text": "Nobody may read this again."}]).ids
            client.supersede(str(old), by=new.id)
            client.delete(str(gone))
            client.add([{"role": "user", "content": text} for text in TALK], conversation="c1")
        owner = open_door(home, None).owner
        assert owner is not None
        file = folder / f"schema_{migrations.newest_version()}.backup"
        backup(owner, file)
        file.with_suffix(".backup.xz").write_bytes(lzma.compress(file.read_bytes(), preset=9))
        file.unlink()


@contextmanager
def restored(version: int, folder: Path) -> Iterator[Path]:
    """A home whose store is that of an older program."""
    source = folder / "store.backup"
    source.write_bytes(lzma.decompress(RELEASED[version].read_bytes()))
    with embedded.temporary_home() as home:
        restore(embedded.ensure_running(home, sync=False).owner, source)
        yield home


def test_every_schema_but_the_newest_has_a_store() -> None:
    assert set(range(migrations.oldest_version() - 1, migrations.newest_version())) <= set(RELEASED), (
        "see above how the missing one is written"
    )


@pytest.mark.parametrize(
    "version", [pytest.param(v, marks=pytest.mark.system if v > UPGRADED[0] else ()) for v in UPGRADED]
)
def test_a_store_of_an_older_program_gets_the_schema_of_a_new_one(version: int, tmp_path: Path) -> None:
    with restored(version, tmp_path) as home:
        old = embedded.ensure_running(home, sync=False).owner
        new = embedded.ensure_running(home, sync=False, database="new").owner
        applied = migrations.migrate(old)
        assert [int(name[:4]) for name in applied] == [*range(version + 1, migrations.newest_version() + 1)]
        assert migrations.migrate(new) == ["schema"]
        upgraded, written = catalogue(old), catalogue(new)
        for part in written:
            assert upgraded[part] == written[part], part


@pytest.mark.system
def test_processes_that_upgrade_a_store_at_once_take_turns(tmp_path: Path) -> None:
    with restored(UPGRADED[0], tmp_path) as home:
        *others, applied = migrate_at_once(embedded.ensure_running(home, sync=False).owner)
    assert others == [[], [], []]
    assert applied == [f"{m.version:04}_{m.name}.{m.phase}" for m in migrations.migrations()]


@pytest.mark.system
@pytest.mark.parametrize("version", UPGRADED)
def test_a_store_of_an_older_program_opens_and_finds_the_same(version: int, tmp_path: Path) -> None:
    with (
        restored(version, tmp_path) as home,
        Recollect(settings=Settings(home=home, embedder="wordllama", user="ana")) as client,
    ):
        assert client.status().schema_version == migrations.newest_version()
        assert {memory.text for memory in client.list(limit=100)} == KEPT
        [old] = [m for m in client.list(limit=100, include_superseded=True) if m.text == OLD]
        assert client.restore(old.id).superseded_by is None
        hits = client.search("Who repairs the boiler?", threshold=0)
        assert hits[0].text == "Imke repairs the boiler."
        client.add("Written after the upgrade.")
        ill = [check for check in client.doctor() if not check.ok]
        assert [check.name for check in ill] == ["durability"], "tests wait for no disk"


if __name__ == "__main__":
    write_store(Path(sys.argv[1]))
