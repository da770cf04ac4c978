from recollect import Recollect

messages = [
    {"role": "Ines", "content": "Drivers say the app drains the battery before the shift ends."},
    {"role": "Jonas", "content": "We ask for a position every two seconds, even on the motorway."},
    {"role": "Ines", "content": "What would you change?"},
    {"role": "Jonas", "content": "Send positions in batches every 40 seconds while driving."},
]

with Recollect() as r:
    turns = r.add(messages, conversation="battery", created_at="2026-07-30T13:00:00Z")
    print(len(turns), "turns")

    hits = r.search("What did Jonas suggest about the battery?")
    for hit in sorted(hits, key=lambda hit: hit.position):
        print(f"{hit.speaker}: {hit.text}")
