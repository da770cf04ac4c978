"""Doors to what Recollect does not do itself: turning text into vectors, talking to models.

`embedders/` holds the embedders. Nothing here knows about memories, tenants or the database;
whoever needs vectors (storage, retrieval) opens an embedder by name and asks it.
"""
