mkdir -p app
printf 'PORT = 8437\n\n\ndef listen(port=PORT):\n    """Wait for requests."""\n' > app/server.py
recollect explore app "which port does the server listen on?" --hint server.py:4 --task-id port --json > result.json
recollect verify result.json
recollect explorations show port --steps
