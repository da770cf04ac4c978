-- The oracle: consultations, what happened in them, and what was missing.

-- One consultation. document: the record without the answer; result: the answer with its citations, null when it
-- failed. documents: the library documents it cites or read, by id; it goes when one of them does.
create table recollect.consultation (
    tenant_id text collate "C" not null,
    consultation_id uuid not null,
    user_id text not null,
    session text not null,
    at timestamptz not null,
    outcome text not null check (outcome in ('success', 'error')),
    documents text[] not null default '{}',
    document jsonb not null,
    result jsonb,
    primary key (tenant_id, consultation_id),
    foreign key (tenant_id) references recollect.tenant on delete cascade
);
create index consultation_at on recollect.consultation (tenant_id, at desc);
create index consultation_user on recollect.consultation (tenant_id, user_id);

-- What a consultation told while it went on, in the order of number.
create table recollect.consultation_event (
    tenant_id text collate "C" not null,
    consultation_id uuid not null,
    number integer not null,
    user_id text not null,
    at timestamptz not null,
    type text not null,
    detail jsonb not null default '{}',
    primary key (tenant_id, consultation_id, number),
    foreign key (tenant_id, consultation_id) references recollect.consultation on delete cascade
);

-- Something that a consultation missed. raised_by: planner or engine.
create table recollect.capability_request (
    tenant_id text collate "C" not null,
    request_id uuid not null,
    consultation_id uuid not null,
    user_id text not null,
    at timestamptz not null,
    raised_by text not null check (raised_by in ('planner', 'engine')),
    description text not null,
    context jsonb not null default '{}',
    workflow text,
    agent text,
    primary key (tenant_id, request_id),
    foreign key (tenant_id, consultation_id) references recollect.consultation on delete cascade
);
create index capability_request_at on recollect.capability_request (tenant_id, at desc);
create index capability_request_consultation on recollect.capability_request (tenant_id, consultation_id);

alter table recollect.consultation
    alter column session set statistics 0, alter column documents set statistics 0,
    alter column document set statistics 0, alter column result set statistics 0;
alter table recollect.consultation_event alter column detail set statistics 0;
alter table recollect.capability_request
    alter column description set statistics 0, alter column context set statistics 0,
    alter column workflow set statistics 0, alter column agent set statistics 0;

do $$
declare
    target text;
    admin constant text := '(select recollect.caller_is_admin())';
    me constant text := '(select recollect.caller() ->> ''user'')';
    own constant text := admin || ' or user_id = ' || me;
begin
    -- What somebody asked is between them and the admin.
    foreach target in array array['consultation', 'consultation_event', 'capability_request'] loop
        call recollect.protect(target, own, own);
    end loop;
end $$;

-- Erase the consultations that quote a document which is gone, whoever asked. Runs with its owner's rights because
-- those rows are their users' own; it touches nothing that quotes a document which is still there.
create function recollect.forget_consultations(documents text[]) returns bigint
language plpgsql security definer
set search_path = recollect, pg_catalog, pg_temp
as $$
declare
    tenant text := recollect.caller_tenant();
    gone text[];
    erased bigint;
begin
    select coalesce(array_agg(d), '{}') into gone from unnest(forget_consultations.documents) d
    where not exists (select from document x where x.tenant_id = tenant and x.document_id::text = d);
    delete from consultation c where c.tenant_id = tenant and c.documents && gone;
    get diagnostics erased = row_count;
    return erased;
end $$;

revoke execute on function recollect.forget_consultations(text[]) from public;
grant execute on function recollect.forget_consultations(text[]) to recollect_app;
