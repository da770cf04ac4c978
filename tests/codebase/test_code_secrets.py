"""What looks like a secret is hidden from records and models; what only speaks of one is not."""

from __future__ import annotations

import pytest

from recollect.codebase.secrets import mask, mask_values

PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('OPENAI = "sk-abcdefghijklmnop1234"', "sk-abcdefghijklmnop1234"),
        ("aws AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
        ("token ghp_abcdefghijklmnopqrst12", "ghp_abcdefghijklmnopqrst12"),
        (PRIVATE_KEY, "MIIEow"),
        ("postgresql://app:hunter22@db/x", "hunter22"),
        ("Authorization: Bearer abcdefghijklmnop123456", "abcdefghijklmnop123456"),
        ('password = "correct-horse"', "correct-horse"),
        ("{'db_password': 'correct-horse'}", "correct-horse"),
        ('apiKey: "1234567890abcdef"', "1234567890abcdef"),
        ("CLIENT_SECRET=9f8e7d6c5b4a", "9f8e7d6c5b4a"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijkl", "eyJzdWIiOiIxMjM0In0"),
    ],
)
def test_a_secret_is_hidden(text: str, secret: str) -> None:
    masked = mask(text)
    assert secret not in masked
    assert "***" in masked
    assert mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "password = read_password()",
        "def check_password(password: str) -> bool:",
        'password = "<your password>"',
        'help="the password of the account"',
        "https://example.org/a:b@c",
        "token = tokens[0]",
        "secret_sauce = 3",
    ],
)
def test_what_only_speaks_of_a_secret_stays(text: str) -> None:
    assert mask(text) == text


def test_every_text_of_a_document_is_masked() -> None:
    document = {"a": ['password = "correct-horse"', 1, None], "b": {"c": True}}
    assert mask_values(document) == {"a": ['password = "***"', 1, None], "b": {"c": True}}
