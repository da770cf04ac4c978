"""A tenant's ontology in the database: one document per tenant, read by all of it, written by its admins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.domain.ontology import DeclaredOntology
from recollect.domain.ontology_document import parse_ontology, to_document
from recollect.errors import ForbiddenError, InvalidInputError
from recollect.storage.scopes import describe_caller
from recollect.storage.store import Transaction


async def find_ontology(tx: Transaction) -> DeclaredOntology | None:
    """What was declared through the API; None if nothing was.

    A document that this version can't read (a newer one wrote it) is an empty ontology with a note.
    """
    row = await tx.fetch_one("find_ontology")
    if row is None:
        return None
    notes: tuple[str, ...] = ()
    try:
        ontology = parse_ontology(row["document"])
    except InvalidInputError as error:
        ontology, notes = (
            parse_ontology({}),
            (f"the stored ontology can't be used: {error}; declare it anew",),
        )
    return DeclaredOntology(
        ontology=ontology,
        document=row["document"],
        source="stored",
        updated_at=row["updated_at"],
        by=row["by"],
        notes=notes,
    )


async def store_ontology(tx: Transaction, document: Mapping[str, Any]) -> None:
    """Replace the tenant's ontology; the document has been parsed before."""
    await _check_admin(tx, "declare the ontology")
    await tx.execute("store_ontology", document=to_document(document), by=tx.context.user_id)


async def clear_ontology(tx: Transaction) -> bool:
    """Withdraw what was declared through the API; whether there was anything."""
    await _check_admin(tx, "clear the ontology")
    return await tx.execute("clear_ontology") > 0


async def _check_admin(tx: Transaction, what: str) -> None:
    await describe_caller(tx)  # a tenant that does not exist says so
    if not tx.context.is_admin:
        raise ForbiddenError(f"{tx.context.user_id or 'this caller'!r} may not {what}; an admin may")
