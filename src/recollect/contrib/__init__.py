"""Recollect inside the work of others: a module for each framework, behind an extra of the same name.

mem0/ is the face of that package over a store of Recollect, importers/ reads what other packages export, demo/ is the
world of `recollect demo`. Nothing of another package is imported before its module is.
"""
