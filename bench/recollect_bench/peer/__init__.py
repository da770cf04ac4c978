"""How each peer is filled and asked, as its own documentation shows it.

Every module but this is a program that runs in the peer's own environment and knows nothing of Recollect.
"""
