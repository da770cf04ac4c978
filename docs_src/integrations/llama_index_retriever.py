from recollect import Recollect
from recollect.contrib.llama_index import RecollectRetriever

with Recollect() as client:
    client.library.add(b"# Kiln\n\nThe kiln reaches 1,240 degrees.\n", name="kiln.md")
    retriever = RecollectRetriever(client, library=True, limit=4)
    [node] = retriever.retrieve("How hot does the kiln get?")
    print(node.text, node.metadata["document"], node.metadata["lines"])
    # and with a model: RetrieverQueryEngine.from_args(retriever, llm=...).query("How hot does the kiln get?")
