from recollect import Recollect
from recollect.contrib.llama_index import RecollectRetriever

with Recollect() as client:
    client.library.add(b"# Kiln\n\nThe kiln reaches 1,240 degrees.\n", name="kiln.md")
    retriever = RecollectRetriever(client, library=True, limit=4)
    [found] = retriever.retrieve("How hot does the kiln get?")
    print(found.text, found.metadata["document"], found.metadata["lines"])
    # and with a model: RetrieverQueryEngine.from_args(retriever, llm=...).query("How hot does the kiln get?")
