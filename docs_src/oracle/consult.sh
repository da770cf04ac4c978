printf '# Setup\n\nThe service listens on port 8437.\n' > setup.md
recollect library add setup.md
recollect consult "which port does the service listen on?" --doc setup.md --dry-run
recollect consult "which port does the service listen on?" --doc setup.md --json > result.json
recollect verify result.json
recollect consultations
recollect capabilities --week
