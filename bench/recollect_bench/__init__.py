"""Quality and speed, measured: `recollect bench`.

Each benchmark runs in a store of its own (`trial`), gives a `Result` (`result`), which is shown (`show`), written
as JSON with a plot (`plots`) and collected in bench/RESULTS.md (`report`).

    locomo  longmemeval  multihop     questions with known answers over a data set you pass (`questions`)
    everyday                          ordinary talk over months: answers, lists, silence, what is outdated
    scale                             speed and completeness on synthetic memories (`texts`, `vectors`, `floor`)
    start                             what a fresh process costs

Nothing here is used by the product, and no data set is part of it.
"""

#: What users have unless they choose another.
USUAL_EMBEDDER = "arctic"
