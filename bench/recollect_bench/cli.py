"""`recollect bench`: the commands. What they measure is in the module of the same name.

Benchmarks never touch a store of yours: they make one of their own, and remove it, unless `--home` names a folder to
keep it in.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.errors import InvalidInputError
from recollect_bench import USUAL_EMBEDDER

if TYPE_CHECKING:
    from recollect_bench.result import Result
    from recollect_bench.show import Show

app = typer.Typer(
    name="bench", help="Measure quality and speed, in a store of its own.", rich_markup_mode=None
)


def _remember_json(ctx: typer.Context, value: bool) -> bool:
    # Errors are printed by the root command, which has to know the wish as well.
    out = getattr(ctx.find_root().obj, "out", None)
    if value and out is not None:
        out.as_json = True
    return value


DataFile = Annotated[Path, typer.Option("--data", help="The data set's file.", metavar="FILE")]
DataFolder = Annotated[Path, typer.Option("--data", help="The data set's folder.", metavar="FOLDER")]
EmbedderOption = Annotated[str, typer.Option(help="The embedder to measure with.", metavar="NAME")]
LimitOption = Annotated[
    int | None, typer.Option("--limit-questions", help="Ask only so many, evenly spread.", min=1, metavar="N")
]
HomeOption = Annotated[
    Path | None,
    typer.Option("--home", help="Keep the store here, and use what is in it next time.", metavar="FOLDER"),
]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="Write the result and its plot here.", metavar="FOLDER")
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON document and nothing else.", callback=_remember_json, is_eager=True
    ),
]


@app.callback(invoke_without_command=True)
def bench(ctx: typer.Context) -> None:
    """Measure quality and speed, in a store of its own."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


@app.command()
def locomo(
    ctx: typer.Context,
    data: DataFile,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    limit_questions: LimitOption = None,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Find the turns of long conversations that answer questions."""
    from recollect_bench.locomo import run_locomo

    show = _show(ctx, json, out)
    _finish(
        ctx,
        json,
        out,
        run_locomo(data, embedder=embedder, limit_questions=limit_questions, home=home, show=show),
    )


@app.command()
def longmemeval(
    ctx: typer.Context,
    data: DataFolder,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    limit_questions: LimitOption = None,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Find the chat sessions that answer questions."""
    from recollect_bench.longmemeval import run_longmemeval

    show = _show(ctx, json, out)
    _finish(
        ctx,
        json,
        out,
        run_longmemeval(data, embedder=embedder, limit_questions=limit_questions, home=home, show=show),
    )


@app.command()
def everyday(
    ctx: typer.Context,
    data: DataFolder,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Ask about months of ordinary talk: answers first, whole lists, silence where nothing is known."""
    from recollect_bench.everyday import run_everyday

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_everyday(data, home=home, show=show))


@app.command()
def near(ctx: typer.Context, out: OutOption = None, json: JsonOption = False) -> None:
    """Ask about what was noted, and about its neighbour, of which nothing is known."""
    from recollect_bench.near import run_near

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_near(show=show))


@app.command()
def multihop(
    ctx: typer.Context,
    data: DataFolder,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    limit_questions: LimitOption = None,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Find the passages that only together answer questions."""
    from recollect_bench.multihop import run_multihop

    show = _show(ctx, json, out)
    _finish(
        ctx,
        json,
        out,
        run_multihop(data, embedder=embedder, limit_questions=limit_questions, home=home, show=show),
    )


@app.command()
def ablate(
    ctx: typer.Context,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="The folder with locomo, longmemeval and multihop in it.", metavar="FOLDER"
        ),
    ] = None,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    limit_questions: LimitOption = None,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Leave one signal out at a time, and see what is found without it."""
    from recollect_bench.ablate import run_ablate

    show = _show(ctx, json, out)
    _finish(
        ctx,
        json,
        out,
        run_ablate(data, embedder=embedder, limit_questions=limit_questions, home=home, show=show),
    )


@app.command()
def route(
    ctx: typer.Context,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="The folder with locomo, longmemeval and multihop in it.", metavar="FOLDER"
        ),
    ] = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Tell complex questions from simple ones, on a labelled set."""
    from recollect_bench.route import run_route

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_route(data, show=show))


@app.command()
def aggregation(
    ctx: typer.Context,
    n: Annotated[int, typer.Option("--n", help="Memories of the organisation.", min=1, metavar="N")] = 20_000,
    teams: Annotated[int, typer.Option(help="Its teams.", min=2, metavar="N")] = 40,
    seed: Annotated[int, typer.Option(help="Another organisation for another number.", metavar="N")] = 7,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    limit_questions: LimitOption = None,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Ask what all teams of a made-up organisation do, beside flat search."""
    from recollect_bench.aggregation import run_aggregation
    from recollect_bench.organisation import Plan

    show = _show(ctx, json, out)
    plan = Plan(memories=n, teams=teams, seed=seed)
    _finish(
        ctx,
        json,
        out,
        run_aggregation(plan, embedder=embedder, limit_questions=limit_questions, home=home, show=show),
    )


@app.command()
def library(
    ctx: typer.Context,
    docs: Annotated[
        Path,
        typer.Option("--docs", help="Where the manuals are: /usr/share/doc, or a copy.", metavar="FOLDER"),
    ],
    data: DataFolder,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure only index, questions, foreign, needles or corruptions; repeat for more.",
            metavar="PART",
        ),
    ] = None,
    every: Annotated[int, typer.Option(help="Take every n-th page of the manuals.", min=1, metavar="N")] = 1,
    needle_tokens: Annotated[
        int, typer.Option(help="Tokens of text that facts are hidden in.", min=1_000, metavar="N")
    ] = 1_000_000,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    limit_questions: LimitOption = None,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Index two manuals, ask the oracle about them, and see what it cites."""
    from recollect_bench.library import PARTS, LibraryPlan, run_library

    show = _show(ctx, json, out)
    plan = LibraryPlan(
        docs=docs,
        data=data,
        parts=tuple(only or PARTS),
        every=every,
        limit_questions=limit_questions,
        needle_tokens=needle_tokens,
    )
    _finish(ctx, json, out, run_library(plan, embedder=embedder, home=home, show=show))


@app.command()
def codebase(
    ctx: typer.Context,
    lines: Annotated[
        int, typer.Option(help="Lines of the made-up tree.", min=1_000, metavar="N")
    ] = 1_000_000,
    queries: Annotated[int, typer.Option(help="Explorations to time.", min=1, metavar="N")] = 10,
    seed: Annotated[int, typer.Option(help="Another tree for another number.", metavar="N")] = 7,
    tree: Annotated[
        Path | None, typer.Option(help="Measure on this folder instead; it is only read.", metavar="FOLDER")
    ] = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Map, explore and search a source tree of a million lines."""
    from recollect_bench.codebase import Plan, run_codebase

    show = _show(ctx, json, out)
    plan = Plan(lines=lines, queries=queries, seed=seed, tree=tree)
    _finish(ctx, json, out, run_codebase(plan, show=show))


@app.command()
def codeloc(
    ctx: typer.Context,
    repos: Annotated[
        Path,
        typer.Option("--repos", help="The folder with a bare clone of each repository.", metavar="FOLDER"),
    ],
    data: DataFolder,
    limit_questions: LimitOption = None,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Find the files of real codebases that issues are about."""
    from recollect_bench.codeloc import run_codeloc

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_codeloc(data, repos, limit_questions=limit_questions, home=home, show=show))


@app.command()
def codeqa(
    ctx: typer.Context,
    repos: Annotated[
        Path,
        typer.Option("--repos", help="The folder with a bare clone of each repository.", metavar="FOLDER"),
    ],
    data: DataFolder,
    limit_questions: LimitOption = None,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Ask real codebases what a newcomer asks, and see which definitions are cited."""
    from recollect_bench.codeqa import run_codeqa

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_codeqa(data, repos, limit_questions=limit_questions, home=home, show=show))


@app.command()
def learning(
    ctx: typer.Context,
    seeds: Annotated[
        int, typer.Option(help="Trainings, each on a company of its own.", min=2, metavar="N")
    ] = 5,
    iterations: Annotated[int, typer.Option(help="Batches of each training.", min=1, metavar="N")] = 40,
    write_base: Annotated[
        Path | None,
        typer.Option(help="Write the mean of the trained policies here: the package's base.", metavar="FILE"),
    ] = None,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    limit_questions: LimitOption = None,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Train how questions are decomposed, and compare on questions that did not train."""
    from recollect_bench.learning import LearningPlan, run_learning

    show = _show(ctx, json, out)
    plan = LearningPlan(seeds=seeds, iterations=iterations)
    _finish(
        ctx,
        json,
        out,
        run_learning(plan, embedder=embedder, home=home, show=show, write_base=write_base),
    )


@app.command()
def poisoning(ctx: typer.Context, out: OutOption = None, json: JsonOption = False) -> None:
    """Store what means harm, and see what of it takes effect."""
    from recollect_bench.poisoning import run_poisoning

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_poisoning(show=show))


@app.command()
def supersession(ctx: typer.Context, out: OutOption = None, json: JsonOption = False) -> None:
    """State facts and then newer ones, and see what is retired, rightly and wrongly."""
    from recollect_bench.supersession import run_supersession

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_supersession(show=show))


@app.command()
def dense(
    ctx: typer.Context,
    sizes: Annotated[
        list[int] | None, typer.Option("--size", help="Rows of a document; repeat for more.", min=1)
    ] = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Count, group, pair and rank labelled lines by rows, and by reading them at once; the model is simulated."""
    from recollect_bench.dense import SIZES, run_dense

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_dense(show=show, sizes=sizes or SIZES))


@app.command()
def local(
    ctx: typer.Context,
    model_file: Annotated[
        Path, typer.Option("--model-file", help="A GGUF file, which xllamacpp serves.", metavar="FILE")
    ],
    window: Annotated[int, typer.Option(help="The window it is served with, in tokens.", min=1_024)] = 4_096,
    timeout: Annotated[float, typer.Option(help="Seconds that one question may take.", min=1.0)] = 240.0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Ask a local model a few questions, and keep its answers as they are."""
    from recollect_bench.local import run_local

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_local(model_file, show=show, window=window, timeout_s=timeout))


@app.command()
def models(ctx: typer.Context, out: OutOption = None, json: JsonOption = False) -> None:
    """Show what models of different windows would be shown of recorded hard questions; none is asked."""
    from recollect_bench.models import run_models

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_models(show=show))


@app.command()
def answers(
    ctx: typer.Context,
    data: DataFolder,
    limit_questions: LimitOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Have the judge read pairs of a question and a text, and compare its verdicts with labels."""
    from recollect_bench.answers import run_answers

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_answers(data, limit=limit_questions, show=show))


@app.command()
def temporal(ctx: typer.Context, data: DataFolder, out: OutOption = None, json: JsonOption = False) -> None:
    """Read the times that texts name."""
    from recollect_bench.temporal import run_temporal

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_temporal(data, show=show))


@app.command()
def scale(
    ctx: typer.Context,
    n: Annotated[int, typer.Option("--n", help="Memories in the store.", min=1, metavar="N")] = 100_000,
    tenants: Annotated[int, typer.Option(help="Tenants that share them.", metavar="N")] = 20,
    queries: Annotated[int, typer.Option(help="Questions to time.", min=1, metavar="N")] = 200,
    sample: Annotated[int, typer.Option(help="Texts to embed for real.", min=2, metavar="N")] = 4_000,
    crowd: Annotated[int, typer.Option(help="Tenants with ten memories each.", metavar="N")] = 10_000,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Time storing and searching in a large store, beside what the database alone needs."""
    from recollect_bench.scale import Plan, run_scale

    show = _show(ctx, json, out)
    plan = Plan(rows=n, tenants=tenants, queries=queries, sample=sample, crowd=crowd)
    _finish(ctx, json, out, run_scale(plan, embedder=embedder, show=show))


@app.command()
def growth(
    ctx: typer.Context,
    sizes: Annotated[
        str, typer.Option(help="Memories of the tenant, as 10000,100000.", metavar="LIST")
    ] = "10000,100000,1000000",
    queries: Annotated[int, typer.Option(help="Questions to time.", min=2, metavar="N")] = 200,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the stores here for the next time.", metavar="FOLDER")
    ] = None,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Time the searches of one tenant as it grows."""
    from recollect_bench.scale import run_growth

    show = _show(ctx, json, out)
    found = run_growth(_sizes(sizes), queries=queries, embedder=embedder, show=show, keep=keep)
    _finish(ctx, json, out, found)


@app.command()
def peers(
    ctx: typer.Context,
    data: DataFolder,
    environments: Annotated[
        Path, typer.Option(help="Where the peers' environments are made and kept.", metavar="FOLDER")
    ],
    n: Annotated[int, typer.Option("--n", help="Texts in each store.", min=100, metavar="N")] = 5_000,
    questions: Annotated[int, typer.Option(help="To ask.", min=1, metavar="N")] = 200,
    only: Annotated[str, typer.Option(help="Peers to measure, as chroma,mem0.", metavar="LIST")] = "",
    embedder: EmbedderOption = USUAL_EMBEDDER,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Put the same texts, vectors and questions through other stores."""
    from recollect_bench.peers import PEERS, run_peers

    names = [name for name in only.split(",") if name] or list(PEERS)
    show = _show(ctx, json, out)
    found = run_peers(
        data,
        size=n,
        questions=questions,
        peers=names,
        environments=environments,
        embedder=embedder,
        show=show,
    )
    _finish(ctx, json, out, found)


@app.command()
def profile(
    ctx: typer.Context,
    n: Annotated[int, typer.Option("--n", help="Memories in the store.", min=100, metavar="N")] = 100_000,
    queries: Annotated[int, typer.Option(help="Questions to ask.", min=1, metavar="N")] = 100,
    keep: Annotated[
        Path | None, typer.Option(help="Where `growth` keeps its stores, or this may.", metavar="FOLDER")
    ] = None,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show where the time of one search goes: statements, round trips, processor time, waiting."""
    from recollect_bench.profile import run_profile

    found = run_profile(n, queries, embedder=embedder, keep=keep, show=_show(ctx, json, out))
    _finish(ctx, json, out, found)


@app.command()
def serve(
    ctx: typer.Context,
    n: Annotated[int, typer.Option("--n", help="Memories in the store.", min=100, metavar="N")] = 100_000,
    clients: Annotated[int, typer.Option(help="Clients at once.", min=1, metavar="N")] = 64,
    seconds: Annotated[float, typer.Option(help="How long they ask.", min=1, metavar="SECONDS")] = 60,
    sockets: Annotated[int, typer.Option(help="Idle WebSockets to open.", min=1, metavar="N")] = 500,
    workers: Annotated[int, typer.Option(help="Processes of the server.", min=1, metavar="N")] = 1,
    curve: Annotated[
        str, typer.Option(help="Other numbers of clients, for the picture.", metavar="LIST")
    ] = "1,8,16,32",
    embedder: EmbedderOption = USUAL_EMBEDDER,
    home: HomeOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Put a server under load: reads, writes and open sockets."""
    from recollect_bench.serve import ServePlan, run_serve

    show = _show(ctx, json, out)
    plan = ServePlan(
        rows=n,
        clients=clients,
        seconds=seconds,
        sockets=sockets,
        workers=workers,
        curve=_sizes(curve, option="--curve"),
    )
    _finish(ctx, json, out, run_serve(plan, embedder=embedder, home=home, show=show))


@app.command()
def cluster(
    ctx: typer.Context,
    tenants: Annotated[int, typer.Option(help="How many.", min=1, metavar="N")] = 1000,
    memories: Annotated[int, typer.Option(help="Of each tenant.", min=1, metavar="N")] = 20,
    clients: Annotated[int, typer.Option(help="At once.", min=1, metavar="N")] = 32,
    seconds: Annotated[float, typer.Option(help="With all clients.", min=1, metavar="S")] = 60,
    shards: Annotated[int, typer.Option(help="Of the cluster.", min=1, metavar="N")] = 32,
    workers: Annotated[int, typer.Option(help="One after another.", min=1, metavar="N")] = 3,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Measure a store on one machine beside the same on a cluster; PG_CONFIG names a PostgreSQL with Citus."""
    from recollect_bench.cluster import ClusterPlan, run_cluster

    show = _show(ctx, json, out)
    plan = ClusterPlan(
        tenants=tenants, memories=memories, clients=clients, seconds=seconds, shards=shards, workers=workers
    )
    _finish(ctx, json, out, run_cluster(plan, embedder=embedder, show=show))


@app.command()
def start(
    ctx: typer.Context,
    repeat: Annotated[int, typer.Option(help="How often.", min=1, metavar="N")] = 5,
    embedder: EmbedderOption = USUAL_EMBEDDER,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Time a fresh process: importing, and a search from nothing to an answer."""
    from recollect_bench.start import run_start

    show = _show(ctx, json, out)
    _finish(ctx, json, out, run_start(repeat=repeat, embedder=embedder, show=show))


@app.command()
def report(
    ctx: typer.Context,
    results: Annotated[Path, typer.Option(help="Where --out wrote.", metavar="FOLDER")] = Path(
        "bench/results"
    ),
    json: JsonOption = False,
) -> None:
    """Write RESULTS.md, beside the folder of results, from the JSON files in it."""
    from recollect_bench.report import write_report

    target = results.parent / "RESULTS.md"
    write_report(results, target)
    if _as_json(ctx, json):
        _print_json({"written": str(target)})
    else:
        print(f"wrote {target}")


def _sizes(text: str, *, option: str = "--sizes") -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InvalidInputError(
            f"{option} {text!r} is not a list of numbers; write it as 1000,10000"
        ) from None


def _as_json(ctx: typer.Context, json: bool) -> bool:
    return json or bool(getattr(getattr(ctx.find_root().obj, "out", None), "as_json", False))


def _show(ctx: typer.Context, json: bool, out: Path | None) -> Show:
    from recollect_bench.plots import ADVICE, can_plot
    from recollect_bench.show import Show

    show = Show(quiet=_as_json(ctx, json))
    if out is not None and not can_plot():
        # Said before the run, not after it: it may take half an hour.
        show.say(ADVICE)
    return show


def _finish(ctx: typer.Context, json: bool, out: Path | None, result: Result) -> None:
    from recollect_bench.plots import can_plot, write_plot
    from recollect_bench.show import show_result

    if out is not None:
        result.write(out)
        if can_plot():
            write_plot(result, out)
    if _as_json(ctx, json):
        _print_json(result.as_document())
    else:
        show_result(result)


def _print_json(document: dict[str, Any]) -> None:
    import json

    print(json.dumps(document, ensure_ascii=False))
