"""The dashboard: pages over the same verbs, in the server's own process, behind the same keys.

`mount` puts it on an application; `places` lists its pages, each in a module of its own. Nothing is decided here, and
everything shown is read under the visitor's own rights.
"""
