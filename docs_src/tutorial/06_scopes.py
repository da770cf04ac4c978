from recollect import Recollect, TenantContext

with Recollect() as admin:
    admin.scopes.create("org/platform")
    admin.scopes.create("team/api", parent="org/platform")
    admin.scopes.create("team/data", parent="org/platform")
    admin.members.add("ana", "team/api")
    admin.members.add("chen", "team/data")
    admin.add("The API team keeps its data in PostgreSQL.", scope="team/api", layer="team")
    admin.add("The Data team keeps its events in ClickHouse.", scope="team/data", layer="team")
    admin.add("Platform teams deploy from Monday to Thursday.", scope="org/platform", layer="org")

    for user in ("ana", "chen", "zoe"):
        caller = admin.for_context(TenantContext(tenant_id="local", user_id=user))
        print(user, [memory.text for memory in caller.list()])
