"""Faces of Recollect: each turns the client's verbs into one medium, and decides nothing itself."""
