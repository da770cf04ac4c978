from recollect.contrib.mem0 import Memory

memory = Memory()  # was: from mem0 import Memory

memory.add("I am allergic to nuts, and I live in Porto.", user_id="ana")
memory.add(
    [
        {"role": "user", "content": "Find me a place for dinner."},
        {"role": "assistant", "content": "Booked a table at eight at Cantina 32."},
    ],
    user_id="ana",
    run_id="trip-7",
    infer=False,
)

results = memory.search("What am I allergic to?", filters={"user_id": "ana"}, top_k=1)
print(results["results"][0]["memory"])
for item in memory.get_all(filters={"user_id": "ana", "run_id": "trip-7"})["results"]:
    print(item["role"], "-", item["memory"])
memory.close()
