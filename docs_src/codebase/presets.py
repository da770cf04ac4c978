from pathlib import Path

from recollect import Recollect
from recollect.runs.roles import PRESETS, get_role

FILES = {
    "bank/account.py": '''class Account:
    """Money of one customer."""

    def withdraw(self, cents: int) -> None:
        """Take money out."""
        check_amount(cents)


def check_amount(cents: int) -> None:
    """Refuse what is no amount."""
    if cents <= 0:
        raise ValueError(cents)
''',
    "bank/transfer.py": '''from bank.account import Account


def transfer(source: Account, target: Account, cents: int) -> None:
    """Move money from one account to another."""
    source.withdraw(cents)
''',
    "tests/test_account.py": """from bank.account import check_amount


def test_nothing_is_no_amount() -> None:
    check_amount(0)
""",
}
for path, text in FILES.items():
    Path("project", path).parent.mkdir(parents=True, exist_ok=True)
    Path("project", path).write_text(text)

QUESTIONS = {
    "repo mapper": "",  # a preset has a question of its own
    "architecture surveyor": "What depends on Account?",
    "debugger": "Why does withdraw raise ValueError?",
    "validation": "Which tests cover check_amount?",
}
r = Recollect()
for name in PRESETS:
    result = r.explore("project", QUESTIONS[name], preset=name)
    print(f"{name}: {get_role(name).triggers[0]}")
    for line in result.synthesis.splitlines()[:4]:
        print(f"  {line}")
r.close()
