"""One question to several sources: memories, documents, code. `ask` has each of them answer, and says it as one."""
