"""Results as tables of text: what the terminal draws, and what RESULTS.md is made of.

One function per benchmark, chosen by the result's name. Numbers become text here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect_bench.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A title, a heading and rows of text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables_of(result: Result) -> list[Table]:
    """The measures of a result."""
    draw = _TABLES.get(result.bench)
    return draw(result.measures) if draw else []


def bar_table(result: Result) -> Table:
    """What was to be reached, and whether it was."""
    rows = [
        [bar.name, _number(bar.value), bar.wanted, "reached" if bar.reached else "missed"]
        for bar in result.bars
    ]
    return Table(title="To reach", columns=["", "measured", "bar", ""], rows=rows)


def environment_line(result: Result) -> str:
    """What the numbers were measured on, in one line."""
    env, machine = result.environment, result.environment["machine"]
    parts = [
        f"recollect {env['recollect']}",
        f"Python {env['python']}",
        *([f"PostgreSQL {env['postgresql']}, pgvector {env['pgvector']}"] if "postgresql" in env else []),
        *([f"embedder {env['embedder']}"] if env.get("embedder") else []),
        f"{machine['cores']} cores ({machine['architecture']}), {machine['memory_gb']:g} GB",
        f"load {machine['load_average']} at the start",
    ]
    return ", ".join(parts)


def _recall(measures: Mapping[str, Any], *, of: str = "") -> list[Table]:
    recall = measures["recall"]
    cutoffs = [name for name in next(iter(recall.values())) if name.startswith("@")]
    rows = [
        [group, f"{row['questions']:,}", *(f"{row[cutoff]:.3f}" for cutoff in cutoffs)]
        for group, row in recall.items()
    ]
    search = measures["search_ms"]
    speed = [["memories", f"{measures['memories']:,}"]]
    if measures["ingest_per_s"] is not None:
        speed.append(["stored per second, with embedding", f"{measures['ingest_per_s']:,.0f}"])
    speed.append(["search p50 / p95, ms", f"{search['p50']:.1f} / {search['p95']:.1f}"])
    return [
        Table(title=f"Recall{of}", columns=["questions about", "number", *cutoffs], rows=rows),
        Table(title=f"Size and speed{of}", columns=["", ""], rows=speed),
    ]


def _locomo(measures: Mapping[str, Any]) -> list[Table]:
    found = measures["calibration"]
    rows = [["gold of the first ten that is kept", f"{found['gold_kept']:.3f}"]]
    if found["foreign_questions"]:
        rows.append(["questions about other people that find nothing", f"{found['foreign_empty']:.3f}"])
    rows.append(["own questions that find nothing", f"{found['own_empty']:.3f}"])
    return [*_recall(measures), Table(title="At the default threshold", columns=["", "share"], rows=rows)]


def _longmemeval(measures: Mapping[str, Any]) -> list[Table]:
    undated = measures.get("recall_without_a_day", {})
    rows = [[cutoff, f"{share:.3f}"] for cutoff, share in undated.items() if cutoff.startswith("@")]
    aside = Table(title="Asked without the day", columns=["", "all"], rows=rows)
    return [*_recall(measures), *([aside] if rows else [])]


def _everyday(measures: Mapping[str, Any]) -> list[Table]:
    columns = ["first", "complete", "silent", "fresh", "junk", "everyday"]
    rows = [
        [
            world,
            str(one["questions"]),
            *("-" if one[name] is None else f"{one[name]:.3f}" for name in columns),
        ]
        for world, one in measures["figures"].items()
    ]
    kinds = [
        [kind, one["figure"], str(one["questions"]), f"{one['right']:.3f}"]
        for kind, one in measures["kinds"].items()
    ]
    return [
        Table(title="By world", columns=["world", "questions", *columns], rows=rows),
        Table(title="By kind of question", columns=["kind", "counts for", "questions", "share"], rows=kinds),
    ]


def _multihop(measures: Mapping[str, Any]) -> list[Table]:
    return [table for name, one in measures["sets"].items() for table in _recall(one, of=f", {name}")]


def _ablate(measures: Mapping[str, Any]) -> list[Table]:
    sets = measures["sets"]
    every = next(iter(next(iter(sets.values()))["recall"]))
    rows = []
    for row in next(iter(sets.values()))["recall"]:
        cells = [f"{one['recall'][row]:.3f}" for one in sets.values()]
        if row != every:
            changes = (one["recall"][row] - one["recall"][every] for one in sets.values())
            cells = [f"{cell} ({change:+.3f})" for cell, change in zip(cells, changes, strict=True)]
        rows.append([row if row == every else f"without {row}", *cells])
    columns = ["", *(f"{name} {one['measure'].removeprefix('recall')}" for name, one in sets.items())]
    return [Table(title="Recall without one signal", columns=columns, rows=rows)]


_CASE = ["memories", "p50 ms", "p95 ms", "floor p50", "floor p95", "p50 / floor", "first p50"]


def _scale(measures: Mapping[str, Any]) -> list[Table]:
    one, small = measures["one_tenant"], measures["small_tenant"]
    rows = [list(row) for row in zip(_CASE, _case(one), _case(small), strict=True)]
    rows.append(["results of 10, mean", *(f"{case['results']:.1f}" for case in (one, small))])
    rows.append(["dense top 10, share of the exact", *(f"{case['overlap']:.3f}" for case in (one, small))])
    rows += [list(row) for row in zip(_COSTS, _costs(one), _costs(small), strict=True)]
    made, stored = measures["embedding"], measures["ingest"]
    ingest = [
        ["the embedder alone", f"{made['embedder_per_s']:,.0f}"],
        ["add_many, embedding included", f"{made['add_many_per_s']:,.0f}"],
        ["add_many, vectors at hand", f"{stored['rows_per_s']:,.0f}"],
        ["vector index built after that, seconds", f"{stored['index_s']:.1f}"],
    ]
    return [
        Table(title="Search", columns=["", "one tenant holds all", "a tenant with 2.5 %"], rows=rows),
        Table(title="Texts per second", columns=["", ""], rows=ingest),
        *_stages([one]),
        *_routed(measures.get("routed_ms", {})),
        *_crowd(measures.get("crowd")),
    ]


def _growth(measures: Mapping[str, Any]) -> list[Table]:
    growth = measures["growth"]
    rows = [[*_case(point), f"{point['overlap']:.3f}", *_costs(point)] for point in growth]
    return [
        Table(title="One tenant", columns=[*_CASE, "overlap", *_COSTS], rows=rows),
        *_stages(growth),
    ]


_COSTS = ["one add p50", "one add p95", "cold p50", "server MB", "bytes a memory"]


def _costs(case: Mapping[str, Any]) -> list[str]:
    """Results of earlier versions have none."""
    if "add_ms" not in case:
        return ["-"] * len(_COSTS)
    return [
        f"{case['add_ms']['p50']:.1f}",
        f"{case['add_ms']['p95']:.1f}",
        f"{case['cold_ms']['p50']:.1f}",
        f"{case['server_mb']:,.0f}",
        f"{case['bytes_per_memory']:,.0f}",
    ]


def _crowd(found: Mapping[str, Any] | None) -> list[Table]:
    if found is None:
        return []
    rows = [
        ["search p50 / p95, ms", f"{found['search_ms']['p50']:.1f} / {found['search_ms']['p95']:.1f}"],
        ["one add p50 / p95, ms", f"{found['add_ms']['p50']:.1f} / {found['add_ms']['p95']:.1f}"],
        ["tenants made and filled per second", f"{found['tenants_per_s']:.1f}"],
        ["server MB", f"{found['server_mb']:,.0f}"],
        ["bytes a memory", f"{found['bytes_per_memory']:,.0f}"],
    ]
    return [Table(title=f"{found['tenants']:,} tenants with ten memories", columns=["", ""], rows=rows)]


def _peers(measures: Mapping[str, Any]) -> list[Table]:
    columns = ["store", "recall@10", "p50 ms", "p95 ms", "texts/s", "MB", "hits of 10", "fewest"]
    rows = [
        [
            f"{name} {found['version']}",
            f"{found['recall']:.3f}",
            *(f"{found['search_ms'][at]:.1f}" for at in ("p50", "p95")),
            f"{found['per_s']:,.0f}",
            f"{found['disk_mb']:.0f}",
            f"{found['hits']:.1f}",
            str(found["fewest"]),
        ]
        for name, found in measures["stores"].items()
    ]
    unread = measures["stores"]["recollect"]["unjudged_ms"]
    ours = ["recollect, without the judge's reading", "", *(f"{unread[at]:.1f}" for at in ("p50", "p95"))]
    rows.insert(1, [*ours, "", "", "", ""])
    return [Table(title="The same texts, vectors and questions", columns=columns, rows=rows)]


def _profile(measures: Mapping[str, Any]) -> list[Table]:
    counts = [measures[name] for name in ("round_trips", "database_cpu_ms", "waited_ms")]
    order = sorted(counts[0], key=lambda name: -counts[1][name])
    rows = [[name, *(f"{count[name]:.2f}" for count in counts)] for name in order]
    rows.append(["all", *(f"{sum(count.values()):.2f}" for count in counts)])
    columns = ["for", "how many", "the database's processor, ms", "waited, ms"]
    taken = measures["search_ms"]
    stages = [
        [name, *(f"{ms[at]:.1f}" for at in ("p50", "p95"))] for name, ms in measures["stages_ms"].items()
    ]
    return [
        Table(title="Round trips of one search", columns=columns, rows=rows),
        Table(
            title="One search",
            columns=["", "ms"],
            rows=[
                ["p50", f"{taken['p50']:.1f}"],
                ["p95", f"{taken['p95']:.1f}"],
                ["our processor time, mean", f"{measures['our_cpu_ms']:.1f}"],
            ],
        ),
        Table(title="Its stages", columns=["stage", "p50 ms", "p95 ms"], rows=stages),
    ]


def _routed(measured: Mapping[str, Mapping[str, float]]) -> list[Table]:
    """Results of earlier versions have none."""
    if not measured:
        return []
    rows = [[kind, f"{taken['p50']:.0f}", f"{taken['p95']:.0f}"] for kind, taken in measured.items()]
    return [Table(title="Searches that are decomposed", columns=["by", "p50 ms", "p95 ms"], rows=rows)]


def _stages(growth: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Results of earlier versions have none."""
    if not growth:
        return []
    names = [
        name
        for name in ("understand", "dates", "generate", "rank", "judge", "show", "total")
        if name in growth[-1]["stages_ms"]
    ]
    rows = []
    for point in growth:
        taken = [point["stages_ms"][name] for name in names]
        rows.append([f"{point['rows']:,}", *(f"{ms['p50']:.2f} / {ms['p95']:.2f}" for ms in taken)])
    return [
        Table(title="Stages of one tenant's searches, p50 / p95 ms", columns=["memories", *names], rows=rows)
    ]


def _case(case: Mapping[str, Any]) -> list[str]:
    search, floor = case["search_ms"], case["floor_ms"]
    times = (search["p50"], search["p95"], floor["p50"], floor["p95"], search["p50"] / floor["p50"])
    return [f"{case['rows']:,}", *(f"{value:.2f}" for value in times), f"{case['first_ms']['p50']:.2f}"]


def _start(measures: Mapping[str, Any]) -> list[Table]:
    rows = [
        [what, f"{measures[name]['median']:.3f}", f"{max(measures[name]['all']):.3f}"]
        for name, what in (
            ("search_running", "`recollect search`, the server runs"),
            ("search_stopped", "`recollect search`, the server is stopped"),
            ("first_ever", "the first `recollect add` on a new home"),
            ("import", "`import recollect`"),
            ("import_client", "`from recollect import Recollect`"),
        )
    ]
    return [Table(title="Seconds in a fresh process", columns=["", "median", "worst"], rows=rows)]


def _cluster(measures: Mapping[str, Any]) -> list[Table]:
    rows = []
    for point in measures["sizes"]:
        for name, where in (("one", "one machine"), ("cluster", f"{point['workers']} workers")):
            alone, crowd = point[name]["alone"], point[name]["crowd"]
            times = [
                f"{part[verb][cut]:.1f}"
                for part in (alone, crowd)
                for verb in ("search_ms", "add_ms")
                for cut in ("p50", "p95")
            ]
            rows.append([where, *times, f"{crowd['searches_s']:.1f}", f"{crowd['adds_s']:.1f}"])
    columns = ["", *(f"{verb} {cut}" for verb in ("search", "add") for cut in ("p50", "p95"))]
    columns += [f"{name}, all" for name in columns[1:]] + ["searches/s", "adds/s"]
    outage = measures["outage"]
    events = [[f"searches/s {when}", f"{rate:.1f}"] for when, rate in outage["searches_s"].items()]
    events += [[f"calls that failed ({code})", str(number)] for code, number in outage["failed"].items()]
    events += [
        ["seconds from its start to the last failure", f"{outage['recovered_s']:.1f}"],
        ["memories acknowledged / lost", f"{outage['acknowledged']} / {outage['lost']}"],
    ]
    steps = [[name.removesuffix("_s").replace("_", " "), f"{s:.1f}"] for name, s in measures["steps"].items()]
    return [
        Table(title="Milliseconds, one client and all, in turns", columns=columns, rows=rows),
        Table(title=f"Steps, {measures['bytes'] / 1e6:,.0f} MB", columns=["step", "seconds"], rows=steps),
        Table(title="A worker is killed and comes back", columns=["", ""], rows=events),
    ]


def _number(value: float) -> str:
    return f"{value:.4f}" if 0.999 < value < 1 else f"{value:.3f}"


def _temporal(measures: Mapping[str, Any]) -> list[Table]:
    rows = [[kind, f"{row['cases']:,}", f"{row['right']:.3f}"] for kind, row in measures["accuracy"].items()]
    took = measures["reading_ms"]
    speed = [["p50 / p95, ms", f"{took['p50']:.2f} / {took['p95']:.2f}"]]
    return [
        Table(title="Read rightly", columns=["kind", "texts", "share"], rows=rows),
        Table(title="Reading one text", columns=["", ""], rows=speed),
    ]


def _answers(measures: Mapping[str, Any]) -> list[Table]:
    rows = [
        [source, f"{row['pairs']:,}", "-" if row["auc"] is None else f"{row['auc']:.3f}"]
        for source, row in measures["told"].items()
    ]
    took = measures["reading_ms"]
    speed = [["p50 / p95, ms", f"{took['p50']:.1f} / {took['p95']:.1f}"]]
    return [
        Table(title="Told apart", columns=["source", "pairs", "AUC"], rows=rows),
        Table(title=f"Reading {measures['candidates']} candidates", columns=["", ""], rows=speed),
    ]


def _supersession(measures: Mapping[str, Any]) -> list[Table]:
    halves = [(name, one) for name, one in measures.items() if "recall" in one]
    rows = [
        [name, f"{one['retired']} of {one['updates']}", f"{one['recall']:.3f}", str(one["wrong"])]
        for name, one in halves
    ]
    kinds = [
        [about, str(row["pairs"]), str(row["wrong"])]
        for about, row in measures["look-alikes by kind"].items()
    ]
    return [
        Table(title="Updates", columns=["pairs", "retired", "recall", "retired wrongly"], rows=rows),
        Table(title="Look-alikes", columns=["kind", "pairs", "retired wrongly"], rows=kinds),
    ]


def _near(measures: Mapping[str, Any]) -> list[Table]:
    rows = [
        [group, str(row["notes"]), f"{row['answered first']:.3f}", f"{row['silent']:.3f}"]
        for group, row in measures["figures"].items()
    ]
    columns = ["neighbour", "notes", "answered first", "silent"]
    return [Table(title="By what the neighbour differs in", columns=columns, rows=rows)]


def _poisoning(measures: Mapping[str, Any]) -> list[Table]:
    kinds = [
        [kind, str(row["attacks"]), str(row["effects"])] for kind, row in measures.items() if "effects" in row
    ]
    return [Table(title="Attacks", columns=["kind", "attacks", "take effect"], rows=kinds)]


def _dense(measures: Mapping[str, Any]) -> list[Table]:
    rows = [
        [
            name,
            f"{one['exact by rows']:.2f}",
            f"{one['exact']:.2f}",
            f"{one['coverage']:.0%}",
            f"{one['requests'][0]:,} / {one['requests'][-1]:,}",
            f"{one['usd'][0]:.4f} / {one['usd'][-1]:.4f}",
            f"{one['of the bound']:.3f}",
            f"{one['direct']['exact']:.2f}",
            f"{one['direct']['lines shown']:.0%}",
        ]
        for name, one in measures.items()
    ]
    columns = [
        "",
        "by rows",
        "exact",
        "looked at",
        "requests",
        "USD",
        "of the bound",
        "direct: exact",
        "shown",
    ]
    return [Table(title="Dense questions", columns=columns, rows=rows)]


def _local(measures: Mapping[str, Any]) -> list[Table]:
    rows = [
        [
            name,
            one["question"],
            " ".join(one["answer"].split())[:300],
            f"{one['standing']} of {one['citations']}",
            f"{one['seconds']:.0f} s",
        ]
        for name, one in measures.items()
    ]
    return [Table(title="Answers", columns=["", "question", "answer", "standing", "time"], rows=rows)]


def _models(measures: Mapping[str, Any]) -> list[Table]:
    rows = [
        [
            name,
            str(one["shape"]),
            f"{one['window']:,}",
            f"{one['answer tokens']:,}",
            f"{one['largest request']:,}",
            f"{one['shown']:.3f} / {one['shown least']:.3f}",
            f"{one['withheld tokens']:,} of {one['withheld results']} results",
        ]
        for name, one in measures.items()
    ]
    columns = [
        "model",
        "shape",
        "window",
        "answer",
        "largest request",
        "shown, mean / least",
        "withheld tokens",
    ]
    return [Table(title="What each profile is shown", columns=columns, rows=rows)]


def _route(measures: Mapping[str, Any]) -> list[Table]:
    rows = [
        [half, str(row["questions"]), f"{row['right']:.3f}"] for half, row in measures["accuracy"].items()
    ]
    mistakes = [
        [row["query"], row["split"], row["belongs"], f"{row['score']:.2f}"] for row in measures["mistakes"]
    ]
    elsewhere = [
        [name, f"{row['questions']:,}", str(row["rlm"]), f"{row['share']:.4f}"]
        for name, row in measures["elsewhere"].items()
    ]
    took = measures["routing_ms"]
    speed = [
        ["a question, p50 / p95", f"{took['p50']:.3f} / {took['p95']:.3f}"],
        ["ten thousand words, p50", f"{took['page_p50']:.3f}"],
    ]
    return [
        Table(title="Sent rightly", columns=["part", "questions", "share"], rows=rows),
        Table(title="The worst mistakes", columns=["question", "part", "belongs", "score"], rows=mistakes),
        Table(
            title="Questions of other sets",
            columns=["set", "questions", "sent to rlm", "share"],
            rows=elsewhere,
        ),
        Table(title="Milliseconds", columns=["", ""], rows=speed),
    ]


def _aggregation(measures: Mapping[str, Any]) -> list[Table]:
    rows = []
    for threshold, limits in measures["routed"].items():
        for limit in limits:
            for path in ("routed", "flat"):
                one = measures[path][threshold][limit]
                rows.append(
                    [
                        f"{limit}, {threshold}",
                        path,
                        f"{one['coverage']:.3f}",
                        f"{one['least']['coverage']:.2f}",
                        f"{one['teams']:.1f} / {one['telling_teams']:.1f}",
                        f"{one['hits']:.1f} / {one['right_hits']:.2f}",
                        f"{one['search_ms']['p50']:.0f} / {one['search_ms']['p95']:.0f}",
                    ]
                )
    taken = measures["simple_ms"]
    speed = [["simple questions, standard path", f"{taken['p50']:.1f} / {taken['p95']:.1f}"]]
    columns = ["", "path", "covered", "worst", "teams / telling", "hits / on topic", "p50 / p95 ms"]
    return [
        Table(title="Teams covered", columns=columns, rows=rows),
        Table(title="Beside them, p50 / p95 ms", columns=["", "ms"], rows=speed),
    ]


def _library(measures: Mapping[str, Any]) -> list[Table]:
    tables = []
    if index := measures.get("index"):
        rows = [
            ["documents", f"{index['documents']:,}"],
            ["tokens", f"{index['tokens']:,}"],
            ["passages", f"{index['passages']:,}"],
            ["passages per second, added", f"{index['passages_per_s']:,.0f}"],
            ["passages per second, the embedder alone", f"{index['embedder_passages_per_s']:,.0f}"],
            ["seconds", f"{index['seconds']:,.0f}"],
            [
                "peak memory, process / server, MB",
                f"{index['peak_process_mb']:.0f} / {index['peak_server_mb']:.0f}",
            ],
        ]
        tables.append(Table(title="Adding", columns=["", ""], rows=rows))
    asked = [(name, measures[name]) for name in ("questions", "own_questions") if name in measures]
    sections = [
        [f"{name.replace('_', ' ')}, {kind}", *(str(row["questions"]), *_shares(row))]
        for name, one in asked
        for kind, row in one["sections"].items()
        if row["questions"]
    ]
    heading = ["questions", "number", "section@1", "section@5", "all parts@5"]
    tables.append(Table(title="A section with the answer is cited", columns=heading, rows=sections))
    rows = [
        [
            what,
            str(one["asked"]),
            f"{one['found']:.3f}",
            f"{one['supported']:.3f}" if "supported" in one else "",
            f"{one['consult_ms']['p50']:.0f} / {one['consult_ms']['p95']:.0f}",
            f"{one['citations']['verified']} of {one['citations']['made']}",
        ]
        for name, what in _CONSULTED.items()
        if (one := measures.get(name))
    ]
    columns = ["consultations", "number", "answered", "supported", "p50 / p95 ms", "citations verified"]
    tables.append(Table(title="Consultations", columns=columns, rows=rows))
    return [*tables, *_planted(measures)]


_CONSULTED = {
    "questions": "the questions of the data set",
    "own_questions": "the benchmark's own questions",
    "foreign": "about other products",
    "lacking": "for features that the products lack",
    "lacking_held": "for such features, held back",
    "needles": "for planted facts",
    "needle_pairs": "for two planted facts at once",
}


def _shares(row: Mapping[str, float]) -> list[str]:
    return [f"{row[key]:.3f}" for key in ("section@1", "section@5", "all_parts@5")]


def _planted(measures: Mapping[str, Any]) -> list[Table]:
    rows = []
    if needles := measures.get("needles"):
        rows.append(["cited", f"{needles['cited']:.3f}"])
        rows.append(["cited among the first five", f"{needles['cited_first_five']:.3f}"])
        rows.append(["cited first", f"{needles['cited_first']:.3f}"])
    if pairs := measures.get("needle_pairs"):
        rows.append(["asked for two at once, both cited", f"{pairs['both_cited']:.3f}"])
    if corrupted := measures.get("corruptions"):
        for kind, statuses in corrupted["kinds"].items():
            said = ", ".join(f"{count} {status}" for status, count in statuses.items())
            rows.append([f"verified after a corruption ({kind})", said])
    return [Table(title="Planted facts", columns=["", ""], rows=rows)] if rows else []


def _learning(measures: Mapping[str, Any]) -> list[Table]:
    def row(name: str, one: Mapping[str, float]) -> list[str]:
        figures = [f"{one[key]:.3f}" for key in ("reward", "plain_reward", "quality")]
        return [name, *figures, f"{one['subcalls']:.2f}", f"{one['tokens']:.0f}"]

    columns = ["", "reward", "plain reward", "quality", "calls", "tokens"]
    policies = {**measures["policies"], **measures["seeds"]}
    templates = [
        row(f"{template}, {policy}", one)
        for template, both in measures["templates"].items()
        for policy, one in both.items()
    ]
    shown = [
        [name, f"{gain['mean']:+.4f}", f"{gain['low']:+.4f} to {gain['high']:+.4f}"]
        for name, gain in (("reward", measures["gain"]), ("plain reward", measures.get("plain_gain")))
        if gain is not None
    ]
    return [
        Table(title="Policies", columns=columns, rows=[row(name, one) for name, one in policies.items()]),
        Table(title="Gain of training", columns=["", "mean", "95 % interval"], rows=shown),
        Table(title="Task templates held out", columns=columns, rows=templates),
    ]


def _codeloc(measures: Mapping[str, Any]) -> list[Table]:
    found = measures["found"]
    cutoffs = [name for name in found["all"] if name.startswith("@")]
    rows = [
        [name, f"{row['issues']:,}", *(f"{row[cutoff]:.3f}" for cutoff in cutoffs)]
        for name, row in found.items()
    ]
    for name, key in (
        ("all, every cited file counted", "every_cited_file_counts"),
        ("BM25 over files", "bm25_over_files"),
    ):
        rows.append(
            [name, f"{found['all']['issues']:,}", *(f"{measures[key][cutoff]:.3f}" for cutoff in cutoffs)]
        )
    took = measures["explore_ms"]
    cited = measures["function_cited"]
    speed = [
        [f"lines of a changed function cited ({cited['issues']} issues)", f"{cited['share']:.3f}"],
        ["one exploration p50 / p95, ms", f"{took['p50']:.0f} / {took['p95']:.0f}"],
    ]
    return [
        Table(
            title="All files of an issue among the first k",
            columns=["issues of", "number", *cutoffs],
            rows=rows,
        ),
        Table(title="Lines and speed, the index at hand", columns=["", ""], rows=speed),
    ]


def _codeqa(measures: Mapping[str, Any]) -> list[Table]:
    kinds, took = measures["kinds"], measures["explore_ms"]
    columns = ["led", "any@5", "share@5", "all@5", "share@10", "all@10"]
    rows = [
        [kind, f"{row['questions']:,}", *(f"{row[name]:.3f}" for name in columns)]
        for kind, row in kinds.items()
    ]
    rest = [
        [f"absent features refused ({measures['absent']} questions)", f"{measures['refused']:.3f}"],
        ["answerable questions refused", f"{len(measures['answerable_refused'])}"],
        ["one exploration p50 / p95, ms", f"{took['p50']:.0f} / {took['p95']:.0f}"],
    ]
    return [
        Table(title="Definitions that answer", columns=["questions", "number", *columns], rows=rows),
        Table(title="Refusals and speed", columns=["", ""], rows=rest),
    ]


def _codebase(measures: Mapping[str, Any]) -> list[Table]:
    cold, warm, changed = measures["cold"], measures["warm"], measures["one_file_changed"]
    explored = warm["explore_s"]
    rows = [
        ["files / lines", f"{measures['files']:,} / {measures['lines']:,}"],
        ["definitions / references between files", f"{measures['definitions']:,} / {measures['edges']:,}"],
        ["cold map, s", f"{cold['map_s']:.1f}"],
        ["one exploration, median / worst, s", f"{explored['median']:.2f} / {explored['worst']:.2f}"],
        ["memory at the peak, cold / warm, MB", f"{cold['peak_mb']:.0f} / {warm['peak_mb']:.0f}"],
    ]
    if changed:
        rows.append(["opened again after one file changed, s", f"{changed['seconds']:.2f}"])
    searches = [
        [
            f"`{one['pattern']}`".replace("|", "\\|"),
            f"{one['matches']:,}",
            f"{one['ours_s'] * 1000:.0f}",
            f"{one['ripgrep_s'] * 1000:.0f}" if one["ripgrep_s"] else "-",
        ]
        for one in measures["grep"]
    ]
    return [
        Table(title="The tree", columns=["", ""], rows=rows),
        Table(title="Search, ms", columns=["pattern", "lines found", "ours", "ripgrep"], rows=searches),
    ]


def _serve(measures: Mapping[str, Any]) -> list[Table]:
    heading = [
        "clients",
        "requests per s",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "failed",
        "the clients' own share of a core",
    ]
    rows = [
        [
            str(one["clients"]),
            f"{one['per_s']:.0f}",
            *_percentiles(one["ms"]),
            str(one["failed"]),
            f"{one['clients_cpu']:.2f}",
        ]
        for one in measures["curve"]
    ]
    kinds = [
        [kind, f"{one['requests']:,}", *_percentiles(one)] for kind, one in measures["load"]["kinds"].items()
    ]
    memory, sockets = measures["memory"], measures["sockets"]
    rest = [
        ["memory of the server at the end, MB", f"{memory['mb']:.0f}"],
        ["its slope after the first quarter, MB a minute", f"{memory['mb_per_minute']:+.1f}"],
        [f"{sockets['number']:,} idle WebSockets, MB", f"{sockets['mb']:.0f}"],
        ["all of them have heard of an event, ms", f"{sockets['last_heard_ms']:.0f}"],
    ]
    return [
        Table(title="By number of clients", columns=heading, rows=rows),
        Table(
            title="By kind, under the whole load",
            columns=["kind", "requests", "p50 ms", "p95 ms", "p99 ms"],
            rows=kinds,
        ),
        Table(title="Memory and sockets", columns=["", ""], rows=rest),
    ]


def _percentiles(one: Mapping[str, float]) -> list[str]:
    return [f"{one[name]:.0f}" for name in ("p50", "p95", "p99")]


_TABLES: dict[str, Callable[[Mapping[str, Any]], list[Table]]] = {
    "locomo": _locomo,
    "longmemeval": _longmemeval,
    "everyday": _everyday,
    "near": _near,
    "multihop": _multihop,
    "ablate": _ablate,
    "aggregation": _aggregation,
    "codebase": _codebase,
    "codeloc": _codeloc,
    "codeqa": _codeqa,
    "learning": _learning,
    "library": _library,
    "route": _route,
    "scale": _scale,
    "profile": _profile,
    "peers": _peers,
    "serve": _serve,
    "start": _start,
    "cluster": _cluster,
    "growth": _growth,
    "poisoning": _poisoning,
    "supersession": _supersession,
    "dense": _dense,
    "local": _local,
    "models": _models,
    "answers": _answers,
    "temporal": _temporal,
}
