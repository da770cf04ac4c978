"""Which text a stored passage had, so that another embedder gets the same."""

from __future__ import annotations

from recollect.library.indexing import passage_of, passages_of
from recollect.library.passages import Passage


def test_every_passage_of_today_is_found_by_its_number_and_lines() -> None:
    text = "# Limits\n\n" + "\n".join(f"Limit {n} of the service is {n * 10} requests." for n in range(60))
    parts = passages_of("Limits", text)
    assert len(parts) > 3
    for number, part in enumerate(parts):
        assert passage_of(parts, part=number, first=part.line_start, last=part.line_end) is part


def test_a_passage_cut_by_an_older_version_is_found_by_its_lines() -> None:
    strange = Passage(line_start=3, line_end=3, text="Bees sleep.", strange=True)
    plain = Passage(line_start=3, line_end=3, text="Bees sleep. Honey keeps.", entries=("bees",))
    parts = [Passage(line_start=1, line_end=2, text="first"), strange, plain]
    assert passage_of(parts, part=1, first=1, last=2) is parts[0]
    assert passage_of(parts, part=0, first=3, last=3) is plain
    assert passage_of(parts, part=7, first=3, last=3) is plain
    assert passage_of(parts, part=0, first=4, last=9) is None
