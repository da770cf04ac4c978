"""Fourth stage: what was found, as a text that a model can answer from.

`augment` goes the whole way from a question to a context; `text` lays out and fits what was found, as a pure
function; `sections` has the headings and their order, `recalled` how one memory reads, `compare` the table for
questions that compare, `sections` also the domain database's rows, `text` the tokens.

Nothing here ranks: which memories are relevant was decided before.
"""

from recollect.retrieval.assemble.augment import ContextAssembler, RlmAssemblyService, augmented_retrieval
from recollect.retrieval.assemble.recalled import format_semantic_triple
from recollect.retrieval.assemble.text import assemble, check_max_tokens, fit_to_context_window

__all__ = [
    "ContextAssembler",
    "RlmAssemblyService",
    "assemble",
    "augmented_retrieval",
    "check_max_tokens",
    "fit_to_context_window",
    "format_semantic_triple",
]
