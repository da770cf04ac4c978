recollect add "The staging server restarts every night at three" >/dev/null
recollect context "When does the staging server restart?" --max-tokens 500 >prompt.txt
recollect context "When does the staging server restart?" --messages >messages.json
cat prompt.txt
