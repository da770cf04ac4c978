"""Recollect inside the frameworks of others: one module for each, behind an extra of the same name.

Nothing of a framework is imported before its module is.
"""
