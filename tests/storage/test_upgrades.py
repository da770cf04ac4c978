"""Stores that older programs wrote: each opens, is migrated, finds what it found, and has lost nothing.

`released/` has a backup of a small store for every schema there was, each written by the program of its time: before a
migration is added, `python tests/storage/test_upgrades.py tests/storage/released` writes the one of today.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

import pytest

from recollect import Recollect, Settings
from recollect.storage import embedded, migrations
from recollect.storage.backup import backup, restore
from recollect.storage.endpoint import open_door

RELEASED = sorted((Path(__file__).parent / "released").glob("*.backup.xz"))
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


def test_every_schema_but_the_newest_has_a_store() -> None:
    versions = {int(file.name.split(".")[0].removeprefix("schema_")) for file in RELEASED}
    assert set(range(1, migrations.newest_version())) <= versions, "see above how the missing one is written"


@pytest.mark.system
@pytest.mark.parametrize("file", RELEASED, ids=lambda file: file.name.split(".")[0])
def test_a_store_of_an_older_program_opens_and_finds_the_same(file: Path, tmp_path: Path) -> None:
    source = tmp_path / "store.backup"
    source.write_bytes(lzma.decompress(file.read_bytes()))
    with embedded.temporary_home() as home:
        embedded.ensure_running(home, sync=False)
        owner = open_door(home, None).owner
        assert owner is not None
        restore(owner, source, replace=True)
        with Recollect(settings=Settings(home=home, embedder="wordllama", user="ana")) as client:
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
