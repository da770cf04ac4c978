from llama_index.core.query_engine import RetrieverQueryEngine

from recollect import Recollect
from recollect.contrib.llama_index import RecollectRetriever

with Recollect() as client:
    client.library.add("handbook.pdf")
    retriever = RecollectRetriever(client, library=True, limit=4)
    print(retriever.retrieve("How many days of leave are there?")[0].text)
    print(RetrieverQueryEngine.from_args(retriever).query("How many days of leave are there?"))
