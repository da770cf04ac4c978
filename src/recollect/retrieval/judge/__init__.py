"""Fourth stage: whether it answers.

`rank` says what a memory is about; the judge says how likely it *answers* the question, and that is a hit's `score`.
`statements` puts each of the best candidates as the trained cross-encoder reads it: who said it, when, what, and what
was said before. `evidence` measures what the encoder is not told: who is asked about, what kind of answer is wanted,
how the candidate stands beside the others. `probability` makes one calibrated number of all that. `currency` decides
what is up to date: among memories that answer the same question about the same thing the newest comes first. `verdict`
brings it together.

The trained model itself is `providers/judge`; nothing here knows a database.
"""

from recollect.retrieval.judge.currency import may_have_changed
from recollect.retrieval.judge.verdict import (
    CLEAR,
    judge_rows,
    rows_of_groups,
    rows_to_read,
    too_far_behind,
    with_silent_groups,
    with_what_is_about_it,
)

__all__ = [
    "CLEAR",
    "judge_rows",
    "may_have_changed",
    "rows_of_groups",
    "rows_to_read",
    "too_far_behind",
    "with_silent_groups",
    "with_what_is_about_it",
]
