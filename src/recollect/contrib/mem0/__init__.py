"""`Memory` and `AsyncMemory` as mem0 has them, over a store of Recollect. Nothing of mem0 is imported.

translation.py reads what is passed and writes what is returned, memory.py asks the client in between. What differs from
mem0 is in docs/integrations.md.
"""

from recollect.contrib.mem0.memory import AsyncMemory, Memory

__all__ = ["AsyncMemory", "Memory"]
