"""Summaries: memories of type `summary` that say in a few sentences what a conversation, a scope or an entity has.

`consolidate` decides what to summarise, `extract` cuts texts into what may be quoted and chooses among it, `abstract`
asks a model instead, `keep` stores it. What is stale and who may
read it is known to storage/summaries.py and to the database.
"""
