"""What a file is for, by its path: the program itself, its tests, words about it, or something brought along.

A path is a hint and no proof, so a role moves a file in a ranking and never hides it.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Role(StrEnum):
    """What a file is for."""

    SOURCE = "source"
    TEST = "test"
    EXAMPLE = "example"
    DOCUMENT = "document"
    VENDORED = "vendored"
    DATA = "data"


_TEST_FOLDERS = frozenset(
    "tests __tests__ spec specs testing testdata test_data testcases fixtures e2e __mocks__".split()
)
_TEST_NAME = re.compile(
    r"(?:test_.*|.*_tests?|.*[.-](?:test|spec)|tests?|conftest|.*_spec)\.\w+$|.*(?:Test|Tests|TestCase|Spec|IT)\.(?:java|kt|cs|scala|php|swift)$"
)
_EXAMPLE_FOLDERS = frozenset(
    "example examples sample samples demo demos tutorial tutorials benchmark benchmarks bench gallery".split()
)
_DOCUMENT_FOLDERS = frozenset("doc docs documentation man wiki website".split())
_VENDORED_FOLDERS = frozenset(
    "vendor vendored _vendor third_party thirdparty third-party extern externals node_modules bundled dist".split()
)
_DOCUMENT_SUFFIXES = frozenset("md rst txt adoc tex org po pot html htm ipynb".split())
_DATA_SUFFIXES = frozenset(
    "json csv tsv xml svg lock sum yaml yml toml ini cfg log snap map css scss".split()
)
_MINIFIED = re.compile(r"\.(?:min|bundle)\.\w+$")


def role_of(path: str) -> Role:
    """The role of a file, by its path alone."""
    *folders, name = path.split("/")
    lowered = [folder.lower() for folder in folders]
    if any(folder in _VENDORED_FOLDERS for folder in lowered) or _MINIFIED.search(name):
        return Role.VENDORED
    if is_test_path(path):
        return Role.TEST
    suffix = name.rpartition(".")[2].lower()
    if suffix in _DOCUMENT_SUFFIXES or any(folder in _DOCUMENT_FOLDERS for folder in lowered):
        return Role.DOCUMENT
    if any(folder in _EXAMPLE_FOLDERS for folder in lowered):
        return Role.EXAMPLE
    return Role.DATA if suffix in _DATA_SUFFIXES else Role.SOURCE


def is_test_path(path: str) -> bool:
    """Whether a file looks like a test, or stands among tests.

    A folder `test` counts at the top and below `src`; deeper, it is often a library that helps with testing.
    """
    *folders, name = path.split("/")
    lowered = [folder.lower() for folder in folders]
    if _TEST_NAME.match(name) or any(folder in _TEST_FOLDERS for folder in lowered):
        return True
    return any(
        folder == "test" and (number == 0 or lowered[number - 1] == "src")
        for number, folder in enumerate(lowered)
    )
