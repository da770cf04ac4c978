recollect add "I drink my coffee black."
recollect search "how do I take my coffee?"
echo "what does Ana want before a meeting?" | recollect search - --limit 1
recollect list --limit 2
