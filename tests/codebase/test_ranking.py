from pathlib import Path

import pytest

from recollect.codebase.index import CodeIndex
from recollect.codebase.query import read_query
from recollect.codebase.ranking import WEIGHTS, rank
from recollect.codebase.tree import open_tree

TREE = {
    "shop/__init__.py": '"""A shop."""\n',
    "shop/cart.py": '''"""The cart of a customer."""

from shop.money import round_price


class Cart:
    """What a customer is about to buy."""

    def __init__(self):
        self.items = []

    def merge(self, other):
        """Take over the items of another cart, without duplicates."""
        for item in other.items:
            if item not in self.items:
                self.items.append(item)

    def total(self):
        """The sum of all prices."""
        return round_price(sum(item.price for item in self.items))
''',
    "shop/money.py": '''"""Prices."""

ROUNDING = "half-even"


def round_price(amount):
    """Round to cents."""
    return round(amount, 2)
''',
    "shop/mail.py": '''"""Letters to customers."""


def send_receipt(customer, order):
    """Write the receipt of an order to a customer."""
    return f"Dear {customer}, thank you for {order}"


def send_reminder(customer):
    """Remind a customer of a cart that was left."""
    return f"Dear {customer}, there is something in your cart"
''',
    "shop/unrelated.py": '''"""Nothing to do with the rest."""


def fly(kite):
    """Let it rise."""
    return kite.rise()
''',
    "tests/test_cart.py": '''"""Tests of the cart."""

from shop.cart import Cart


def test_merge_of_two_carts_takes_items_without_duplicates():
    cart = Cart()
    cart.merge(Cart())
    assert cart.items == []
''',
    "docs/cart.md": "# The cart\n\nMerging a cart takes over the items of another cart without duplicates.\n",
    "web/cart/index.ts": "export function renderCart(items: string[]): string {\n  return items.join(', ');\n}\n",
    "lib/invoice.go": "package lib\n\n// PrintInvoice writes an invoice.\nfunc PrintInvoice() int {\n\treturn 1\n}\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    for path, text in TREE.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    with CodeIndex.open(open_tree(root), tmp_path_factory.mktemp("store"), workers=1) as opened:
        yield opened


def paths(index, text, hints=(), **limits):
    return [file.path for file in rank(index, read_query(text, list(hints)), **limits)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Merging two carts duplicates items", "shop/cart.py"),
        ("Prices are rounded wrongly", "shop/money.py"),
        ("No receipts are sent to customers", "shop/mail.py"),
        ("`send_reminder` fails", "shop/mail.py"),
        ("Something is wrong\n\nIt happens in Cart.total, I think.", "shop/cart.py"),
        ("ROUNDING should be configurable", "shop/money.py"),
        ("rendering is slow in the browser, see renderCart", "web/cart/index.ts"),
        ("invoices are empty", "lib/invoice.go"),
        ("shop.unrelated breaks", "shop/unrelated.py"),
        ("Look at shop/unrelated.py please, the cart is fine", "shop/unrelated.py"),
    ],
)
def test_the_file_a_question_is_about_comes_first(index, text, first):
    assert paths(index, text)[0] == first


def test_a_trace_points_at_the_file_and_the_definition_around_its_line(index):
    trace = (
        "It breaks\n\nTraceback (most recent call last):\n"
        '  File "/srv/site-packages/shop/mail.py", line 10, in send_reminder\n'
        '  File "/srv/site-packages/shop/money.py", line 8, in round_price\n'
        "TypeError: no amount\n"
    )
    first, second = rank(index, read_query(trace), limit=2)
    assert first.path == "shop/money.py"
    assert second.path == "shop/mail.py"
    assert first.spans[0].name == "round_price"
    assert "line 8 is in the stack trace" in first.spans[0].why


def test_the_program_comes_before_its_tests_and_manuals(index):
    found = paths(index, "Merging carts takes items twice, not without duplicates")
    assert found[0] == "shop/cart.py"
    assert {"tests/test_cart.py", "docs/cart.md"} <= set(found)


def test_a_question_about_tests_finds_tests(index):
    assert paths(index, "Which tests cover merging of carts without duplicates?")[0] == "tests/test_cart.py"


def test_a_question_about_documentation_finds_it(index):
    assert paths(index, "Where is merging a cart documented?")[0] == "docs/cart.md"


@pytest.mark.parametrize(
    ("hint", "first"),
    [
        ("shop/mail.py", "shop/mail.py"),
        ("mail.py:10", "shop/mail.py"),
        ("send_receipt", "shop/mail.py"),
        ("shop.unrelated", "shop/unrelated.py"),
        ("lib", "lib/invoice.go"),
        ("web/**/*.ts", "web/cart/index.ts"),
        (
            '  File "/x/shop/mail.py", line 5, in send_receipt\n  File "/x/shop/unrelated.py", line 6, in fly\n',
            "shop/unrelated.py",
        ),
    ],
)
def test_hints_lead(index, hint, first):
    assert paths(index, "why is the sum wrong?", [hint])[0] == first


def test_a_hinted_line_is_the_first_evidence(index):
    (first, *_) = rank(index, read_query("why?", ["shop/mail.py:10"]))
    assert first.spans[0].name == "send_reminder"


def test_what_a_file_uses_follows_it_in_the_graph(index):
    found = rank(index, read_query("why?", ["shop/cart.py"]))
    graph = {file.path: file.signals.get("graph", 0.0) for file in found}
    assert graph["shop/money.py"] > graph.get("shop/unrelated.py", 0.0)


def test_the_definitions_that_match_are_the_evidence(index):
    (first, *_) = rank(index, read_query("Merging two carts duplicates items"))
    assert first.spans[0].name == "Cart.merge"
    assert (first.spans[0].start_line, first.spans[0].end_line) == (12, 16)
    assert "merge" in first.spans[0].why or "duplicates" in first.spans[0].why


def test_confidences_are_chances_in_order(index):
    found = rank(index, read_query("Merging two carts duplicates items"), limit=100)
    chances = [file.confidence for file in found]
    assert chances == sorted(chances, reverse=True)
    assert 0 < sum(chances) < 1.1
    assert chances[0] > 0.3


def test_files_behind_a_certain_one_keep_chances_that_differ(index):
    found = rank(index, read_query("Merging carts", ["shop/mail.py:10"]), limit=8)
    chances = [file.confidence for file in found]
    assert chances[0] > 0.8
    assert len(set(chances)) == len(chances)


def test_signals_add_up_and_have_a_weight(index):
    for file in rank(index, read_query("Merging two carts duplicates items"), limit=100):
        assert set(file.signals) <= set(WEIGHTS)
        assert sum(file.signals.values()) >= file.score - 1e-9


def test_nothing_speaks_for_a_query_without_words_of_the_tree(index):
    assert paths(index, "zyzzyva qwxyz") == []
    assert paths(index, "") == []
    assert paths(index, "???", ["nowhere/at/all.py", "*.zig"]) == []


def test_the_limit_holds_and_the_order_does_not_depend_on_it(index):
    assert paths(index, "cart items", limit=2) == paths(index, "cart items", limit=9)[:2]
    assert paths(index, "cart items", limit=0) == []


def test_an_empty_tree_has_no_files_to_rank(tmp_path: Path):
    (tmp_path / "tree").mkdir()
    with CodeIndex.open(open_tree(tmp_path / "tree"), tmp_path / "store", workers=1) as empty:
        assert rank(empty, read_query("cart")) == []


def test_a_tree_of_nothing_but_tests_is_ranked_like_a_program(tmp_path: Path):
    root = tmp_path / "tree"
    (root / "tests").mkdir(parents=True)
    (root / "tests/test_a.py").write_text("def test_cart():\n    assert cart\n\n\ndef test_b():\n    pass\n")
    (root / "tests/test_b.py").write_text("def test_kite():\n    assert kite\n\n\ndef test_c():\n    pass\n")
    with CodeIndex.open(open_tree(root), tmp_path / "store", workers=1) as only_tests:
        assert paths(only_tests, "the kite")[0] == "tests/test_b.py"
