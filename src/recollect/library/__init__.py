"""The knowledge library: documents read whole, kept with their lines, found by section.

`reading/` turns files into documents, `bundle.py` gathers the files of a working folder.
"""
