"""A small repository about a shop, in three languages, laid out where a test wants it."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "shop/__init__.py": '"""A small shop."""\n',
    "shop/cart.py": '''"""What a customer wants to buy."""

from shop.prices import price_of


class Cart:
    """Items and how many of each."""

    def __init__(self) -> None:
        self.items: dict[str, int] = {}

    def add(self, item: str, count: int = 1) -> None:
        """Put something into the cart."""
        self.items[item] = self.items.get(item, 0) + count

    def total_cents(self) -> int:
        """What all of it costs."""
        return sum(price_of(item) * count for item, count in self.items.items())
''',
    "shop/prices.py": '''"""Prices, and the discount of the season."""

PRICES_CENTS = {"apple": 30, "bread": 250}
SEASON_DISCOUNT_PERCENT = 10


class UnknownItemError(LookupError):
    """Nothing of this name is sold."""


def price_of(item: str) -> int:
    """The price of one item, with the discount of the season taken off."""
    if item not in PRICES_CENTS:
        raise UnknownItemError(item)
    return apply_discount(PRICES_CENTS[item])


def apply_discount(cents: int) -> int:
    """Take the season's discount off a price."""
    return cents * (100 - SEASON_DISCOUNT_PERCENT) // 100
''',
    "shop/checkout.py": '''"""Paying for a cart."""

from shop.cart import Cart


def pay(cart: Cart, paid_cents: int) -> int:
    """Take the money and give the change; too little money is refused."""
    due = cart.total_cents()
    if paid_cents < due:
        raise ValueError(f"{due - paid_cents} cents are missing")
    return paid_cents - due
''',
    "shop/receipts.py": '''"""Receipts as text."""

from shop.cart import Cart
from shop.prices import price_of


def receipt(cart: Cart) -> str:
    """A line for each item and the total below."""
    lines = [f"{item} x{count} {price_of(item)}" for item, count in cart.items.items()]
    return "\\n".join([*lines, f"total {cart.total_cents()}"])
''',
    "tests/test_prices.py": """from shop.prices import apply_discount, price_of


def test_the_discount_is_taken_off() -> None:
    assert price_of("apple") == 27
    assert apply_discount(100) == 90
""",
    "web/basket.js": """// Shows the basket in the page.
import { formatCents } from "./money.js";

export function renderBasket(basket) {
  return basket.items.map((one) => `${one.name}: ${formatCents(one.cents)}`).join("\\n");
}
""",
    "web/money.js": """// Money for people.
export function formatCents(cents) {
  return (cents / 100).toFixed(2);
}
""",
    "README.md": "# Shop\n\nSells apples and bread. The discount of the season is in `shop/prices.py`.\n",
}

TRACE = """Traceback (most recent call last):
  File "/home/ana/shop/shop/checkout.py", line 8, in pay
    due = cart.total_cents()
  File "/home/ana/shop/shop/cart.py", line 18, in total_cents
    return sum(price_of(item) * count for item, count in self.items.items())
  File "/home/ana/shop/shop/prices.py", line 14, in price_of
    raise UnknownItemError(item)
shop.prices.UnknownItemError: pear
"""


def lay_out(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Write the repository below a folder."""
    for path, text in (files or FILES).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return folder
