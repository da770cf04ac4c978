from langchain_core.runnables import RunnableLambda

from recollect import Recollect
from recollect.contrib.langchain import RecollectRetriever

with Recollect() as client:
    client.add("The lab in Bergen opens at seven.")
    retriever = RecollectRetriever(client=client, limit=3)
    answer = retriever | RunnableLambda(lambda documents: documents[0].page_content)
    print(answer.invoke("When does the lab in Bergen open?"))
