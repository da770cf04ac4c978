"""The lexical numbers on which the store's SQL and the ranking must agree.

BM25 itself is summed in SQL over the postings; its constants and the weight of a term are defined here.
"""

from __future__ import annotations

import math

#: BM25's usual saturation and length normalisation.
K1 = 1.2
B = 0.75
#: Which terms a memory matched travels as the bits of a bigint, and the sign bit is not ours.
MAX_QUERY_TERMS = 62

#: Every store is taken as a part of a larger one: a hundred more memories, one of which has the term.
#: Without it a store of three notes gives a word it has an idf of 0.5 and one it lacks 2.1, and a question
#: with a single word of its own is never covered. From a few hundred memories on it changes nothing
#: (LoCoMo recall@10 0.798 with and 0.800 without).
PRIOR_MEMORIES = 100
PRIOR_MATCHES = 1


def inverse_frequency(document_frequency: int, memories: int) -> float:
    """Lucene's idf with the prior above. In SQL: `ln(1 + (n + 99.5 - df) / (df + 1.5))`."""
    df = document_frequency + PRIOR_MATCHES
    return math.log(1.0 + (memories + PRIOR_MEMORIES - df + 0.5) / (df + 0.5))
