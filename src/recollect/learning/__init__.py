"""Learning from use: what was recalled, what came of it, and how to rank better next time.

`events` records, `feedback` takes what people say, `strategies` gives a search its weights; `rewards`, `utility`
and `weights` are the trainers and their proof, `experiments` compares strategies on live questions,
`training` runs it all. Never visible to users: reading any of it needs the admin role.
"""
