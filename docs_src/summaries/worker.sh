recollect consolidate
recollect list --type summary
recollect worker --once
