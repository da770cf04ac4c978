"""The grammars: a package for each language, loaded with its first file, and the query of its own `.scm` file."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.codebase.languages import LANGUAGES
from recollect.errors import GrammarMissingError

if TYPE_CHECKING:
    from tree_sitter import Language, Parser, Query

#: Language -> module of its package, and the function in it that gives the grammar.
_PACKAGES = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "bash": ("tree_sitter_bash", "language"),
}
#: A language that has another language's query as well, before its own.
_ALSO = {"tsx": ("typescript",)}
_QUERIES = Path(__file__).parent / "queries"
_LOADING = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A language that can be parsed. A parser is not for two threads at once, so each asks for its own."""

    name: str
    language: Language
    query: Query

    def parser(self) -> Parser:
        """A new parser; making it costs next to nothing."""
        from tree_sitter import Parser

        return Parser(self.language)


def grammar_modules() -> list[str]:
    """The modules of all grammars, installed or not."""
    return sorted({module for module, _ in _PACKAGES.values()})


def get_grammar(language: str) -> Grammar:
    """The grammar of a language; a `GrammarMissingError` says what to install, or that there is none."""
    with _LOADING:
        return _load(language)


@cache
def _load(name: str) -> Grammar:
    package = _PACKAGES.get(name)
    if package is None:
        raise GrammarMissingError(
            f"there is no grammar for {name!r}; there is one for {', '.join(LANGUAGES)}; use grep instead"
        )
    try:
        from tree_sitter import Language, Query

        module = import_module(package[0])
    except ImportError as error:
        raise GrammarMissingError(
            f"reading {name} needs {package[0].replace('_', '-')}, which is not installed:"
            " pip install 'recollect[code]'"
        ) from error
    language = Language(getattr(module, package[1])())
    files = [*_ALSO.get(name, ()), name]
    source = "\n".join((_QUERIES / f"{file}.scm").read_text(encoding="utf-8") for file in files)
    return Grammar(name=name, language=language, query=Query(language, source))
