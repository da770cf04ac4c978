"""Work that nobody waits for: summaries, sweeping, learning. `tasks` says what, `worker` runs it.

Jobs are rows of the same PostgreSQL (storage/upkeep.py), so they survive the process, and several workers share them.
"""
