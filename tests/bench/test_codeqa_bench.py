import json
from pathlib import Path

import pytest
from tests.bench.test_codeloc_bench import git

from recollect.domain.findings import Finding
from recollect.errors import InvalidInputError
from recollect_bench.codeqa import Place, Question, read_questions, run_codeqa, score
from recollect_bench.show import Show
from recollect_bench.tables import tables_of

CART = """def merge(cart, other):
    \"\"\"Take over what lies in another cart.\"\"\"
    return cart + other


def send_receipt(customer):
    \"\"\"Write to a customer what was paid.\"\"\"
    return customer
"""


def finding(path: str, first: int, last: int) -> Finding:
    return Finding(
        description="", evidence="", source_file=path, line_range=(first, last), confidence=0.5, citations=()
    )


def place(symbol: str, first: int, last: int, **more: object) -> Place:
    given = {
        "path": "a.py",
        "symbol": symbol,
        "lines": (first, last),
        "focus": (first, last),
        "twin_of": None,
    }
    return Place(**{**given, **more})  # type: ignore[arg-type]


def question(*gold: Place, also: tuple[Place, ...] = (), kind: str = "place") -> Question:
    return Question(id="1", repository="me/shop", commit="", kind=kind, text="?", gold=gold, also=also)


def test_a_finding_hits_the_lines_that_answer_unless_it_is_much_longer() -> None:
    long = place("f", 10, 300, focus=(200, 210))
    assert long.is_hit(finding("a.py", 205, 205))
    assert not long.is_hit(finding("a.py", 10, 30))
    assert not long.is_hit(finding("b.py", 205, 205))
    assert not place("g", 10, 20).is_hit(finding("a.py", 1, 200))


def test_a_copy_counts_for_its_original_and_what_is_beside_only_leads() -> None:
    asked = question(
        place("f", 1, 5), place("g", 10, 15),
        also=(place("af", 20, 25, twin_of="f"), place("h", 30, 35)),
    )  # fmt: skip
    row = score(asked, [finding("a.py", 30, 31), finding("a.py", 20, 22)])
    assert row["led"]
    assert (row["share@5"], row["any@5"], row["all@5"]) == (0.5, True, False)
    assert not score(asked, [])["led"]


def test_an_absent_feature_is_refused_by_citing_nothing() -> None:
    assert score(question(kind="absent"), [])["refused"]
    assert not score(question(kind="absent"), [finding("a.py", 1, 2)])["refused"]


def test_data_of_another_shape_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text('[{"id": "1"}]')
    with pytest.raises(InvalidInputError, match="not a list of questions"):
        read_questions(tmp_path / "dev.json")


@pytest.mark.system
def test_questions_are_explored_and_counted(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    (work / "cart.py").write_text(CART)
    git(work, "add", "-A")
    git(work, "commit", "-qm", "a commit")
    git(work, "clone", "-q", "--bare", str(work), str(tmp_path / "me+shop"))
    about = {"repo": "me/shop", "commit": git(work, "rev-parse", "HEAD")}
    gold = {"path": "cart.py", "symbol": "merge", "start": 1, "end": 3}
    rows = [
        {**about, "id": "1", "kind": "place", "question": "How are two carts put together?", "gold": [gold]},
        {**about, "id": "2", "kind": "absent", "question": "zyzzyva", "gold": []},
    ]
    (tmp_path / "dev.json").write_text(json.dumps(rows))
    result = run_codeqa(tmp_path, tmp_path, show=Show(quiet=True))
    assert result.measures["kinds"]["all"] == result.measures["kinds"]["place"]
    assert result.measures["kinds"]["place"]["led"] == 1.0
    assert (result.measures["refused"], result.measures["absent"]) == (1.0, 1)
    assert [bar.bar for bar in result.bars] == [0.65, 0.62, 0.60]
    assert any("place" in row for table in tables_of(result) for row in table.rows)
