from recollect import Recollect

with Recollect() as r:
    r.add("The release train leaves every second Tuesday at eleven.")
    r.add("Ana prefers a written design before any meeting about it.")
    r.add("The head office moved to Mill Lane in September.")

    for hit in r.search("When does the release train leave?"):
        print(hit.text)
