cat > recollect.toml <<'END'
domain_database_url = "sqlite:///shop.db"

[ontology.types.customer]
table = "customers"
label = "name"
filters.active = { status = "active" }

[ontology.types.order]
table = "orders"
columns = ["id", "ordered_on", "total"]
time_column = "ordered_on"

[[ontology.relations]]
name = "HAS_MANY"
from = "customer"
to = "order"
to_column = "customer_id"
inverse = "BELONGS_TO"
END

recollect ontology clear --yes
recollect ontology check
recollect ontology query "Which orders does Acme Corporation have since February?" --now 2024-02-14
