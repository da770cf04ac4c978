"""The one door: `AsyncRecollect` (async_client.py) and `Recollect`, which waits for its calls (sync_client.py).

Each module beside them is a face of the client (`client.library`, `client.keys`, ...). verbs.py declares what servers
offer; remote.py asks a server for them; portal.py lets threads wait for coroutines.
"""
