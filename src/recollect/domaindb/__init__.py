"""The user's own SQL database: read through a declared ontology, as a source of truth beside memories.

`database.py` is the door (`DomainDatabase`: find, expand, query, check), `answers.py` turns one question into
tables, `questions.py` reads its words, `lookups.py` builds statements, `tables.py` knows columns, `connection.py`
keeps it all read-only and bounded. What an ontology is stands in `domain/ontology.py`.
"""
