mkdir -p docs && printf '# Setup\n\nThe service listens on port 8437.\n' > docs/setup.md
recollect library add docs --tag product
recollect library list
recollect library search "which port is used?" --limit 1
recollect library get docs/setup.md --lines 3
recollect library remove docs/setup.md --yes
