"""The demo world: Fernhill Parcel, a company that does not exist, with things to find.

`world/` is data: people and scopes (company.json), memories and conversations written by hand, the everyday noise
around them (everyday.jsonl), and questions with the memories that answer them. `world.py` reads it and stores
it through the client's public verbs. Showing it is `cli.py`.
"""
