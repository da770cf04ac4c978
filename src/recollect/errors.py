"""Every error Recollect raises, in one tree.

    RecollectError
    ├── InvalidInputError            what the caller passed makes no sense; nothing was stored
    │   ├── InvalidTextError         empty, too long, NUL bytes, not UTF-8
    │   ├── InvalidFilterError       a filter that can't be read
    │   ├── ConfigurationError       a setting, environment variable or recollect.toml that makes no sense
    │   ├── IncompatibleCallError    a facade of another package can't do this, or that package could not either
    │   ├── IntegrationMissingError  the package it works with is not installed; the message names the command
    │   ├── SourceError              a file of a source tree that can't be read: binary, too large, gone meanwhile
    │   │   └── GrammarMissingError  there is no grammar for its language, or its package is not installed
    │   └── DocumentError            a file that can't be read: damaged, or not what it should be
    │       ├── DocumentUnsupportedError    a format there is no reader for
    │       ├── DocumentEncryptedError      it is protected by a password
    │       ├── DocumentTooLargeError       it, or what it unpacks to, is beyond a limit of size, time or memory
    │       └── DocumentReaderMissingError  the package that reads it is not installed; the message names the command
    ├── NotFoundError                no such thing, or not one this caller may see: the two look the same
    │   ├── MemoryNotFoundError
    │   ├── DocumentNotFoundError
    │   ├── SourceNotFoundError
    │   ├── ScopeNotFoundError
    │   └── TenantNotFoundError
    ├── UnauthorizedError            no key, or an invalid one: unknown, expired and revoked look the same
    ├── ForbiddenError               visible, but not allowed
    ├── ConflictError                it exists already, or changed meanwhile
    ├── EmbedderError
    │   ├── EmbedderMissingError     a package or a model file is not installed; the message names the command
    │   ├── EmbedderMismatchError    the store was embedded with another embedder
    │   └── EmbedderFailedError      an embedder that is there did not answer
    ├── ModelError                   something about a chat model; what can go on without one does
    │   ├── ModelMissingError        its package is not installed; the message names the command
    │   ├── ModelUnavailableError    it can't be reached, or its server failed
    │   ├── ModelTimeoutError        it did not answer in time
    │   ├── ModelRefusedError        it would not answer: wrong key, or a content filter
    │   ├── ModelBudgetError         asking might pass a limit of tokens or dollars; nothing was sent
    │   ├── ModelWindowError         what it was sent is longer than its window
    │   └── ModelOutputError         what it answered is not of the asked form
    ├── RunError                     something about a run over some material; what was found is kept
    │   ├── RunInterruptedError      it was cut short; asking again goes on with what was found
    │   ├── BudgetExhaustedError     a call beyond the limits of a budget, made by hand; nothing was called
    │   ├── DepthLimitError          a call would go deeper than the limit; only that call is refused
    │   └── PlannerError             a planner could not say what to do next
    └── StoreError
        ├── StoreUnreachableError    wrong URL, no server, wrong password
        ├── StoreUnsupportedError    PostgreSQL or pgvector too old, or missing rights
        ├── StoreNewerError          the database was migrated by a newer Recollect
        ├── StoreCorruptedError      the data folder or the schema is damaged
        ├── StoreFullError           no space left on the disk; the transaction was rolled back
        └── StoreBusyError           a lock or a start that took too long; try again

`code` is stable and what programs should look at; messages are for people. Surfaces map codes to
their own language (exit codes, HTTP statuses) in one table each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar


class RecollectError(Exception):
    """Base of everything Recollect raises on purpose."""

    code: ClassVar[str] = "error"


class InvalidInputError(RecollectError):
    """What the caller passed makes no sense; nothing was stored."""

    code = "invalid_input"


class InvalidTextError(InvalidInputError):
    """The text is empty, too long, has NUL bytes, or is not UTF-8."""

    code = "invalid_text"


class InvalidFilterError(InvalidInputError):
    """The filter has an unknown operator, an unknown column type, or a shape that can't be read."""

    code = "invalid_filter"


class ConfigurationError(InvalidInputError):
    """A setting makes no sense; the message names where it came from."""

    code = "invalid_configuration"


class IncompatibleCallError(InvalidInputError, ValueError):
    """A facade of another package was asked for what makes no sense there, or what Recollect can't do."""

    code = "incompatible_call"


class IntegrationMissingError(InvalidInputError, ImportError):
    """The package that an integration or an importer works with is not installed."""

    code = "integration_missing"


class SourceError(InvalidInputError):
    """The file of a source tree can't be read: it is binary, too large, no regular file, or changed meanwhile."""

    code = "invalid_source"


class GrammarMissingError(SourceError):
    """There is no grammar for this language, or its package is not installed."""

    code = "grammar_missing"


class DocumentError(InvalidInputError):
    """The file can't be read: it is damaged, or not what it should be."""

    code = "invalid_document"


class DocumentUnsupportedError(DocumentError):
    """There is no reader for this format."""

    code = "document_unsupported"


class DocumentEncryptedError(DocumentError):
    """The file is protected by a password."""

    code = "document_encrypted"


class DocumentTooLargeError(DocumentError):
    """The file, or what it unpacks to, is beyond a limit of size, time or memory."""

    code = "document_too_large"


class DocumentReaderMissingError(DocumentError):
    """The package that reads this format is not installed."""

    code = "document_reader_missing"


class NotFoundError(RecollectError):
    """No such thing, or not one this caller may see."""

    code = "not_found"


class MemoryNotFoundError(NotFoundError):
    """No memory with this id is visible to this caller."""

    code = "memory_not_found"


class DocumentNotFoundError(NotFoundError):
    """No document with this id or name is visible to this caller."""

    code = "document_not_found"


class SourceNotFoundError(NotFoundError):
    """No file or folder of the source tree has this path."""

    code = "source_not_found"


class ScopeNotFoundError(NotFoundError):
    """No scope with this name is visible to this caller."""

    code = "scope_not_found"


class TenantNotFoundError(NotFoundError):
    """No tenant with this id."""

    code = "tenant_not_found"


class UnauthorizedError(RecollectError):
    """No key was sent, or an invalid one: unknown, expired and revoked keys look the same."""

    code = "unauthorized"


class ForbiddenError(RecollectError):
    """The caller may see this, but not do that."""

    code = "forbidden"


class ConflictError(RecollectError):
    """It exists already, or changed since it was read."""

    code = "conflict"


class EmbedderError(RecollectError):
    """Something about turning text into vectors."""

    code = "embedder_error"


class EmbedderMissingError(EmbedderError):
    """The embedder's package or model files are not installed."""

    code = "embedder_missing"


class EmbedderMismatchError(EmbedderError):
    """The store holds vectors of another embedder."""

    code = "embedder_mismatch"


class EmbedderFailedError(EmbedderError):
    """The embedder is installed but did not produce vectors."""

    code = "embedder_failed"


class ModelError(RecollectError):
    """Something about a chat model."""

    code = "model_error"


class ModelMissingError(ModelError):
    """The package that talks to the chat model is not installed."""

    code = "model_missing"


class ModelUnavailableError(ModelError):
    """The chat model can't be reached, or its server failed."""

    code = "model_unavailable"


class ModelTimeoutError(ModelError):
    """The chat model did not answer in time."""

    code = "model_timeout"


class ModelRefusedError(ModelError):
    """The chat model would not answer: a wrong key, or a content filter."""

    code = "model_refused"


class ModelBudgetError(ModelError):
    """A request whose worst case would pass a limit of tokens or dollars; it was not sent. `limit` says which."""

    code = "model_budget"

    def __init__(self, message: str, *, limit: str = "usd") -> None:
        super().__init__(message)
        self.limit = limit


class ModelWindowError(ModelError):
    """What the chat model was sent is longer than its window."""

    code = "model_window"


class ModelOutputError(ModelError):
    """What the chat model answered is not of the asked form."""

    code = "model_bad_output"


class RunError(RecollectError):
    """Something about a run over some material; what was found is kept."""

    code = "run_error"


class RunInterruptedError(RunError):
    """It was cut short because the server stopped; asking again goes on with what was found."""

    code = "run_interrupted"


class BudgetExhaustedError(RunError):
    """A tool was called by hand beyond the limits of its budget; nothing was called."""

    code = "budget_exhausted"


class DepthLimitError(RunError):
    """A call would start a run deeper than the limit; only that call is refused."""

    code = "depth_limit"


class PlannerError(RunError):
    """A planner could not say what to do next. `limit` is what was in its way."""

    code = "planner_failed"

    def __init__(self, message: str, *, limit: str | None = None) -> None:
        super().__init__(message)
        self.limit = limit


class StoreError(RecollectError):
    """Something about the database."""

    code = "store_error"


class StoreUnreachableError(StoreError):
    """The database can't be connected to."""

    code = "store_unreachable"


class StoreUnsupportedError(StoreError):
    """PostgreSQL, pgvector or the schema is too old, or the role lacks rights."""

    code = "store_unsupported"


class StoreNewerError(StoreError):
    """The database was migrated by a newer Recollect than this one."""

    code = "store_newer"


class StoreCorruptedError(StoreError):
    """The data folder or the schema is damaged; nothing was changed."""

    code = "store_corrupted"


class StoreFullError(StoreError):
    """No space left for the database; the transaction was rolled back."""

    code = "store_full"


class StoreBusyError(StoreError):
    """A lock or a start took too long."""

    code = "store_busy"


def error_tree(root: type[RecollectError] = RecollectError) -> Iterator[type[RecollectError]]:
    """Every error of ours, a family before its members."""
    yield root
    for kind in root.__subclasses__():
        yield from error_tree(kind)


def error_class(code: str) -> type[RecollectError]:
    """The class of a stable code; RecollectError for one that this program does not know."""
    return next((kind for kind in error_tree() if kind.code == code), RecollectError)
