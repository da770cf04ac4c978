"""Two small documents, and how they get into a library."""

from __future__ import annotations

from recollect import Recollect

SHOP = """# Shop API

How to talk to the shop.

## Security

### OAuth2

Tokens expire after 15 minutes. Use `refresh_token` to renew one.

### Scopes

A token may read, or read and write.

## Rate limits

Each client may send 100 requests per minute. Beyond that the answer is 429.
"""

BREAD = """# Baking

## Rye bread

Rye bread rests for twelve hours at room temperature before it goes into the oven.

## Ovens

Heat the stone for an hour, and steam the oven well.
"""


def put_document(client: Recollect, name: str, text: str | bytes) -> None:
    """Add a document to the client's library, or change the one of this name."""
    client.library.add(text.encode() if isinstance(text, str) else text, name=name, wait=True)
