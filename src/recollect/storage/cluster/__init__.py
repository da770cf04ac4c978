"""A store on many machines: Citus shards its tables by tenant, and every transaction goes to one shard.

`distribute` turns a store into a cluster; `nodes` looks at one and drives Citus' own rebalancer. What a cluster's
policies and functions look like is in sql/cluster.sql; the rest of the store asks a connection whether it is
`on_cluster`.
"""
