-- name: dated_about
-- Memories that say the words of an event and may date it, the most fitting first: which share of the words' weight
-- they say, and everything a date can be read from. Words that stand in very many memories name no event: they find
-- nothing, and only count for what the others found.
with word as materialized (
    select x.term, x.df, 1 / (1 + ln(1 + x.df::float8)) as weight
    from (
        select t.term, (select count(*) from (select from {posting} p where p.tenant_id = %(tenant)s
            and p.term = t.term collate "C" {scopes_p} limit %(common_from)s) c) as df
        from unnest(%(terms)s::text[]) as t(term) offset 0) x
), hit as materialized (
    select p.memory_id, sum(w.weight) as weight, min(p.dl) as dl
    from word w join {posting} p on p.tenant_id = %(tenant)s and p.term = w.term collate "C" {scopes_p}
    where w.df < %(common_from)s
    group by p.memory_id
    -- What can't say enough of the event, even with all of its common words, is not looked at.
    having sum(w.weight) + (select coalesce(sum(c.weight) filter (where c.df >= %(common_from)s), 0) from word c)
        >= %(about)s * (select sum(a.weight) from word a)
    order by 2 desc, 3, 1
    limit %(hits)s
)
select m.memory_id, m.text, m.valid_from, m.valid_to, m.created_at, h.dl,
    (h.weight + coalesce(c.weight, 0)) / (select sum(w.weight) from word w) as share
from hit h
cross join lateral (
    select m.memory_id, m.text, m.valid_from, m.valid_to, m.created_at from {memory} m
    where m.tenant_id = %(tenant)s and m.memory_id = h.memory_id
        and m.until > %(at)s and (m.valid_from is not null or m.text ~* %(dated)s) offset 0) m
left join lateral (
    select sum(w.weight) as weight from word w
    cross join lateral (select from {posting} p where p.tenant_id = %(tenant)s and p.term = w.term collate "C"
        and p.memory_id = h.memory_id offset 0) p
    where w.df >= %(common_from)s) c on true
order by share desc, h.dl, m.memory_id
limit %(limit)s;
