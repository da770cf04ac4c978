from pathlib import Path

from recollect import Recollect

SHOP = {
    "shop/prices.py": '''"""Prices, and the discount of the season."""

PRICES_CENTS = {"apple": 30, "bread": 250}
SEASON_DISCOUNT_PERCENT = 10


def price_of(item: str) -> int:
    """The price of one item, with the discount of the season taken off."""
    return apply_discount(PRICES_CENTS[item])


def apply_discount(cents: int) -> int:
    """Take the season's discount off a price."""
    return cents * (100 - SEASON_DISCOUNT_PERCENT) // 100
''',
    "shop/cart.py": '''"""What a customer wants to buy."""

from shop.prices import price_of


def total_cents(items: dict[str, int]) -> int:
    """What all of it costs."""
    return sum(price_of(item) * count for item, count in items.items())
''',
}
for path, text in SHOP.items():
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text)

r = Recollect()
result = r.explore("shop", "How is the discount of the season taken off a price?")
print(result.synthesis)
best = result.findings[0]
print(best.source_file, best.line_range, best.citations[0].status.value)
print(best.evidence.splitlines()[-1].strip())

# Months later: does what it cites still stand there?
Path("shop/prices.py").write_text(SHOP["shop/prices.py"].replace("// 100", "/ 100"))
checked = r.verify(result)
print(checked.holds, next(cited.file_path for cited in checked.citations if cited.status.value == "stale"))
r.close()
