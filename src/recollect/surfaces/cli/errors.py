"""How a failed command looks from outside: one line on standard error, and an exit code that means something.

Knows the error tree and typer's usage errors, nothing of any command. With `--json` the line is a JSON
document. A traceback is printed only with `RECOLLECT_DEBUG=1`.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping

from recollect import errors
from recollect.errors import RecollectError, error_tree

UNEXPECTED = 1
USAGE = 2
NOT_FOUND = 3
FORBIDDEN = 4
CONFLICT = 5
EMBEDDER = 6
STORE = 7
#: Some items were stored and some were not, and the report says which.
PARTLY_STORED = 8
#: The command ran, and what it examined is not well.
CHECK_FAILED = 9
MODEL = 10
#: 128 + SIGINT, as shells report it.
INTERRUPTED = 130
#: 128 + SIGPIPE: what other tools give when `| head` has seen enough.
READER_GONE = 141

#: The nearest class of an error decides.
_FAMILIES: Mapping[type[RecollectError], int] = {
    errors.InvalidInputError: USAGE,
    errors.NotFoundError: NOT_FOUND,
    errors.UnauthorizedError: FORBIDDEN,
    errors.ForbiddenError: FORBIDDEN,
    errors.ConflictError: CONFLICT,
    errors.EmbedderError: EMBEDDER,
    errors.ModelError: MODEL,
    errors.RunInterruptedError: STORE,
    errors.BudgetExhaustedError: USAGE,
    errors.DepthLimitError: USAGE,
    errors.PlannerError: MODEL,
    errors.StoreError: STORE,
    RecollectError: UNEXPECTED,
}
#: A stable error code -> the exit code of its family; last what is no error of the tree.
EXIT_CODES: Mapping[str, int] = {
    **{cls.code: next(_FAMILIES[base] for base in cls.__mro__ if base in _FAMILIES) for cls in error_tree()},
    "unexpected": UNEXPECTED,
    "usage": USAGE,
    "partly_stored": PARTLY_STORED,
    "check_failed": CHECK_FAILED,
    "interrupted": INTERRUPTED,
}


def exit_code(code: str) -> int:
    """The exit code of an error code; one that is not in the table counts as unexpected."""
    return EXIT_CODES.get(code, UNEXPECTED)


def report_error(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong on standard error, and give the exit code."""
    if os.environ.get("RECOLLECT_DEBUG", "") not in {"", "0"}:
        traceback.print_exception(error)
    if isinstance(error, RecollectError):
        code, message = error.code, str(error)
    else:
        code = "unexpected"
        message = f"unexpected {type(error).__name__}: {error}; RECOLLECT_DEBUG=1 shows where"
    return report(code, message, as_json=as_json)


def report(code: str, message: str, *, as_json: bool) -> int:
    """Print one line (or one JSON document) on standard error, and give the exit code."""
    from recollect.surfaces.cli.output import one_line, to_json

    document = {"error": {"code": code, "message": message}}
    print(to_json(document) if as_json else f"recollect: {one_line(message)}", file=sys.stderr)
    return exit_code(code)
