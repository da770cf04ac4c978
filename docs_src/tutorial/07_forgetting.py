from recollect import Recollect
from recollect.errors import MemoryNotFoundError

with Recollect() as r:
    memory = r.add("The code of the side door is 4711.")
    receipt = r.delete(memory.id)
    print(receipt.memories, "memory erased")
    print("not reached:", receipt.unreachable[0])

    try:
        r.get(memory.id)
    except MemoryNotFoundError as error:
        print(error.code)

    receipt = r.delete(filters={"kind": "ticket"})
    print(receipt.memories, "tickets erased")
