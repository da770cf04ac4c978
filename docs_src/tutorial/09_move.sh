recollect export memories.jsonl
recollect --json tenants create elsewhere --name "Somewhere else"
recollect --tenant elsewhere import memories.jsonl
recollect --tenant elsewhere --json search "When does the release train leave?" --limit 1
