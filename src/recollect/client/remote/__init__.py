"""The client of a server: `Recollect(url=..., api_key=...)`, with the verbs and types of the embedded store.

client.py has the verbs, transport.py sends them, domain/codec.py makes values of what comes back. What a server offers
is `client/verbs.py`; everything else says that it needs the store itself.
"""
