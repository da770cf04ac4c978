import pytest

from recollect.codebase.languages import Role, is_test_path, role_of
from recollect.codebase.resolve import MAX_MATCHES, PathTable

PATHS = [
    "src/shop/__init__.py",
    "src/shop/cart.py",
    "src/shop/pay/__init__.py",
    "src/shop/pay/card.py",
    "src/other/cart.py",
    "web/cart/index.ts",
    "web/pay.ts",
    "setup.py",
    "README.md",
]
TABLE = PathTable(PATHS)


def named(numbers) -> list[str]:
    return [PATHS[number] for number in numbers]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("/venv/lib/site-packages/shop/cart.py", ["src/shop/cart.py"]),
        ("cart.py", ["src/shop/cart.py", "src/other/cart.py"]),
        ("src/other/cart.py", ["src/other/cart.py"]),
        ("file:///home/me/src/shop/pay/card.py", ["src/shop/pay/card.py"]),
        ("C:\\work\\shop\\cart.py", ["src/shop/cart.py"]),
        ("./web/cart", ["web/cart/index.ts"]),
        ("../web/pay", ["web/pay.ts"]),
        ("missing.py", []),
        ("", []),
        ("../..", []),
    ],
)
def test_a_path_of_another_machine_is_found_by_its_end(text, files):
    assert named(TABLE.path(text).files) == files


def test_a_complete_path_is_told_from_an_end():
    assert TABLE.path("/build/src/shop/cart.py").parts == 4
    assert TABLE.path("/build/shop/cart.py").parts == 2


def test_a_file_at_the_top_is_meant_by_any_path_that_ends_so_but_weakly():
    assert TABLE.path("elsewhere/setup.py").parts == TABLE.path("setup.py").parts == 2


@pytest.mark.parametrize(
    ("dotted", "files", "parts"),
    [
        ("shop.cart.Cart.pay", ["src/shop/cart.py"], 2),
        ("shop.pay", ["src/shop/pay/__init__.py"], 2),
        ("shop.pay.card", ["src/shop/pay/card.py"], 3),
        ("cart.pay", [], 0),
        ("elsewhere.cart.Cart", [], 0),
    ],
)
def test_a_dotted_name_is_the_module_it_begins_with(dotted, files, parts):
    match, length = TABLE.module(dotted)
    assert (named(match.files), length) == (files, parts)


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("**/cart.py", ["src/shop/cart.py", "src/other/cart.py"]),
        ("src/*/cart.py", ["src/shop/cart.py", "src/other/cart.py"]),
        ("*.ts", ["web/cart/index.ts", "web/pay.ts"]),
        ("./web/**", ["web/cart/index.ts", "web/pay.ts"]),
        ("src/shop/*.py", ["src/shop/__init__.py", "src/shop/cart.py"]),
        ("*.go", []),
        ("[", []),
        ("../*.py", []),
        ("/etc/*", []),
    ],
)
def test_globs_name_files(pattern, files):
    assert named(TABLE.glob(pattern)) == files


def test_a_folder_names_the_files_below_it_also_by_its_end():
    assert named(TABLE.folder("src/shop/pay")) == ["src/shop/pay/__init__.py", "src/shop/pay/card.py"]
    assert named(TABLE.folder("shop/pay")) == ["src/shop/pay/__init__.py", "src/shop/pay/card.py"]


def test_what_names_nearly_everything_names_nothing():
    table = PathTable([f"src/file{number}.py" for number in range(MAX_MATCHES + 1)])
    assert table.glob("*") == ()
    assert table.folder("src") == ()


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_cart.py",
        "shop/tests/cart.py",
        "src/cart.test.ts",
        "src/cart_test.go",
        "spec/cart_spec.rb",
        "src/test/java/com/shop/CartTest.java",
        "test/cart.js",
        "conftest.py",
    ],
)
def test_tests_are_known_by_their_path(path):
    assert is_test_path(path)
    assert role_of(path) is Role.TEST


@pytest.mark.parametrize(
    "path", ["shop/latest.py", "shop/test/client.py", "src/contest.go", "src/_pytest/nodes.py"]
)
def test_files_that_only_sound_like_tests_are_none(path):
    assert not is_test_path(path)


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("shop/cart.py", Role.SOURCE),
        ("docs/cart.py", Role.DOCUMENT),
        ("README.md", Role.DOCUMENT),
        ("examples/cart.py", Role.EXAMPLE),
        ("vendor/lib/cart.go", Role.VENDORED),
        ("static/cart.min.js", Role.VENDORED),
        ("package.json", Role.DATA),
    ],
)
def test_other_roles_are_known_by_the_path_too(path, role):
    assert role_of(path) is role
