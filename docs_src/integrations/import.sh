cat > mem0.json <<'EXPORT'
{"results": [
  {"id": "0b6f8a52-55c5-4f07-9df4-6fd0b25f0a11", "memory": "Likes window seats", "user_id": "mara",
   "created_at": "2025-11-03T09:15:00+00:00", "metadata": {"topic": "travel"}},
  {"id": "5f0d3c5c-4b1b-4c39-8f0c-0f3b1f1f2a22", "memory": "Works nights", "user_id": "bo"}
]}
EXPORT
recollect import --from mem0 mem0.json
recollect import --from mem0 mem0.json
recollect list --scope user/mara
