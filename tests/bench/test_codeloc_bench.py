import json
import subprocess
from pathlib import Path

import pytest

from recollect.errors import InvalidInputError
from recollect_bench.codeloc import Found, Issue, Layout, find_clone, read_issues, run_codeloc
from recollect_bench.show import Show
from recollect_bench.tables import tables_of

FIRST = {
    "shop/cart.py": "def merge(cart, other):\n    return cart + other\n",
    "shop/mail.py": "def send_receipt(customer):\n    return customer\n",
    "tests/test_cart.py": "def test_merge():\n    assert merge\n",
    "old/gone.py": "def gone():\n    return 1\n",
}
SECOND = {**{path: text for path, text in FIRST.items() if path != "old/gone.py"}, "old": "a file now\n"}


def git(folder: Path, *command: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, *command], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def repos(tmp_path_factory):
    """A clone as the benchmark takes it, and its two commits."""
    work, folder = tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("repos")
    git(work, "init", "-q")
    commits = []
    for tree in (FIRST, SECOND):
        git(work, "rm", "-rfq", "--ignore-unmatch", ".")
        for path, text in tree.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text)
        git(work, "add", "-A")
        git(work, "commit", "-qm", "a commit")
        commits.append(git(work, "rev-parse", "HEAD"))
    git(work, "clone", "-q", "--bare", str(work), str(folder / "me+shop"))
    return folder, commits


def held(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): file.read_text()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_a_folder_holds_one_commit_after_the_other(repos, tmp_path):
    folder, (first, second) = repos
    layout = Layout(find_clone(folder, "me/shop"), tmp_path / "tree")
    for commit, expected in ((first, FIRST), (second, SECOND), (first, FIRST)):
        layout.show(commit)
        assert held(tmp_path / "tree") == expected


def test_a_commit_that_the_clone_has_not_is_named(repos, tmp_path):
    layout = Layout(find_clone(repos[0], "me/shop"), tmp_path / "tree")
    with pytest.raises(InvalidInputError, match="0000000"):
        layout.show("0" * 40)


def test_a_missing_clone_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"git clone --bare.*me\+shop"):
        find_clone(tmp_path, "me/shop")


def test_data_of_another_shape_is_refused(tmp_path):
    (tmp_path / "issues_dev.json").write_text('[{"id": "1"}]')
    with pytest.raises(InvalidInputError, match="not a list of issues"):
        read_issues(tmp_path / "issues_dev.json")


def test_tests_and_other_languages_do_not_count_unless_everything_does():
    issue = Issue(id="1", repository="me/shop", commit="", text="", files=("shop/cart.py",))
    found = Found(issue=issue, cited=("tests/test_cart.py", "README.md", "shop/cart.py"), seconds=0.0)
    assert found.within(1)
    assert not found.within(1, strict=True)
    assert found.within(3, strict=True)


def test_all_files_of_an_issue_have_to_be_found():
    issue = Issue(id="1", repository="me/shop", commit="", text="", files=("a.py", "b.py"))
    found = Found(issue=issue, cited=("a.py", "c.py", "b.py"), seconds=0.0)
    assert not found.within(2)
    assert found.within(3)


@pytest.mark.system
def test_issues_are_explored_and_counted(repos, tmp_path):
    folder, (first, second) = repos
    rows = [
        {"id": "1", "base_commit": first, "query": "Merging carts fails", "gold_files": ["shop/cart.py"]},
        {"id": "2", "base_commit": second, "query": "No receipt is sent", "gold_files": ["shop/mail.py"]},
        {"id": "3", "base_commit": second, "query": "zyzzyva", "gold_files": ["shop/mail.py"]},
    ]
    changed = {"shop/mail.py": ["send_receipt", "imports"], "shop/cart.py": ["imports"]}
    issues = [{**row, "repo": "me/shop", "gold_spans": changed} for row in rows]
    (tmp_path / "issues_dev.json").write_text(json.dumps(issues))
    result = run_codeloc(tmp_path, folder, show=Show(quiet=True))
    assert result.measures["found"]["all"]["issues"] == 3
    assert result.measures["found"]["all"]["@1"] == pytest.approx(2 / 3)
    assert result.measures["missed"] == ["3"]
    # The third finds nothing at all.
    assert result.measures["function_cited"]["issues"] == 3
    assert 1 / 3 <= result.measures["function_cited"]["share"] < 1
    assert {bar.bar for bar in result.bars} == {0.76, 0.5}
    assert any("me/shop" in row for table in tables_of(result) for row in table.rows)
