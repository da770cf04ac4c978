"""Memory search for questions that one look won't answer: the engine of `runs/` over memories.

`decompose` reads by what a question can be split, `environment` offers the tools, `gathered` keeps what they found,
`aggregate` brings it together, `executor` runs it all and gives back what a standard search would.
"""
