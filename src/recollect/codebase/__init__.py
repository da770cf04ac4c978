"""Exploring a source tree: reading only, below a root, with what it holds kept in an index.

`tree.py` is the jail, `symbols/` reads definitions and references, `index.py` keeps them by content hash, `grep.py`
searches. How files are ranked, planned and cited is in the modules beside them; nothing here knows a model.
"""
