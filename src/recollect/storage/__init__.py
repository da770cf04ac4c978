"""The only place that knows PostgreSQL.

`store.py` is the door: a pool of connections as the application role, and transactions that say who is
asking. `sql/` holds the schema, the migrations and every query under a name. `embedded/` runs the
PostgreSQL that came with the package. Nothing here knows embedders, ranking or surfaces.
"""
