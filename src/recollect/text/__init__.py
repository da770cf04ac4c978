"""Reading text: its terms, names, times, facts and what a question wants. Knows nothing of stores or searches."""
