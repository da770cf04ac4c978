-- An admin says how the own tenant's questions are routed, and changes nothing else of the tenant's row.
revoke update on recollect.tenant from recollect_app;
grant update (recursion_threshold, recursion_enabled) on recollect.tenant to recollect_app;
alter policy updatable on recollect.tenant
    using (tenant_id = (select recollect.caller_tenant()) and (select recollect.caller_is_admin()))
    with check (tenant_id = (select recollect.caller_tenant()) and (select recollect.caller_is_admin()));
