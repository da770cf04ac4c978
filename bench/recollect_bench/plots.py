"""A picture of a result, one per benchmark, drawn with matplotlib when it is installed.

matplotlib is a tool of developers, not a dependency: without it the JSON is written and the picture is left out.
"""

from __future__ import annotations

import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from recollect_bench.questions import ALL
from recollect_bench.result import Result

ADVICE = "matplotlib is not installed, so there will be no plot; `pip install matplotlib` brings it"
_BLUE, _GREY, _LIGHT = "#2f6fab", "#9aa5b1", "#a9c8e6"


def can_plot() -> bool:
    """Whether matplotlib is there."""
    return find_spec("matplotlib") is not None


def write_plot(result: Result, folder: Path) -> Path:
    """Draw a result into a PNG file beside its JSON."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    draw = {
        "multihop": _multihop,
        "ablate": _ablate,
        "aggregation": _aggregation,
        "codebase": _codebase,
        "codeloc": _codeloc,
        "everyday": _everyday,
        "near": _near,
        "codeqa": _codeqa,
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
        "learning": _learning,
        "library": _library,
        "answers": _answers,
        "temporal": _temporal,
    }.get(result.bench, _recall)
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure, result)
    file = folder / f"{result.stem}.png"
    folder.mkdir(parents=True, exist_ok=True)
    # Without the program's version in the file, the same numbers give the same bytes.
    figure.savefig(file, dpi=110, metadata={"Software": None})
    return file


def _recall(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    _recall_bars(axes, result.measures["recall"])
    axes.set_title(
        f"{result.bench}: recall of gold {result.measures['unit']}s, {result.arguments['embedder']}"
    )


def _multihop(figure: Any, result: Result) -> None:
    sets = result.measures["sets"]
    every = figure.subplots(1, len(sets), squeeze=False)[0]
    for axes, (name, measures) in zip(every, sets.items(), strict=True):
        _recall_bars(axes, measures["recall"])
        axes.set_title(f"{name}, {result.arguments['embedder']}")


def _everyday(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    shares = [bar for bar in result.bars if not bar.at_most]
    bars = axes.bar([bar.name for bar in shares], [bar.value for bar in shares], 0.6, color=_BLUE)
    axes.bar_label(bars, fmt="%.3f", fontsize=8, padding=2)
    for place, bar in enumerate(shares):
        axes.hlines(bar.bar, place - 0.4, place + 0.4, color=_GREY, linestyle="--", linewidth=1)
    axes.set_ylim(0, 1.1)
    axes.set_title(f"Everyday talk, {result.measures['figures'][ALL]['junk']:.2f} wrong hits per question")
    axes.spines[["top", "right"]].set_visible(False)


def _codebase(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    for number, bar in enumerate(result.bars):
        share = bar.value / bar.bar
        axes.barh(bar.name, share, color=_BLUE if bar.reached else _LIGHT)
        axes.text(share, number, f" {bar.value:.3g} of {bar.bar:g}", va="center", fontsize=8)
    axes.axvline(1.0, color=_GREY, linestyle="--", linewidth=1)
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.set_xlabel("share of what is allowed")
    axes.set_title(f"A source tree of {result.measures['lines']:,} lines")
    axes.spines[["top", "right"]].set_visible(False)


def _codeloc(figure: Any, result: Result) -> None:
    measures = result.measures
    rows = {
        ALL: measures["found"]["all"],
        "every cited file counted": measures["every_cited_file_counts"],
        "BM25 over files": measures["bm25_over_files"],
    }
    axes = figure.subplots()
    _recall_bars(axes, rows)
    axes.set_ylabel("issues")
    axes.set_title("codeloc: all files of an issue among the first k")


def _codeqa(figure: Any, result: Result) -> None:
    kinds = result.measures["kinds"]
    axes = figure.subplots()
    _recall_bars(
        axes,
        {kind: {f"@{cutoff}": row[f"share@{cutoff}"] for cutoff in (5, 10)} for kind, row in kinds.items()},
    )
    axes.set_ylabel("definitions that answer")
    axes.set_title("codeqa: share of the definitions that answer among the first k")


def _ablate(figure: Any, result: Result) -> None:
    sets = result.measures["sets"]
    every = figure.subplots(1, len(sets), squeeze=False, sharey=True)[0]
    for axes, (name, measures) in zip(every, sets.items(), strict=True):
        (_, whole), *rest = measures["recall"].items()
        axes.barh([signal for signal, _ in rest], [value - whole for _, value in rest], color=_BLUE)
        axes.axvline(0, color=_GREY, linewidth=0.8)
        axes.set_title(f"{name}, {whole:.2f}", fontsize=9)
        axes.tick_params(labelsize=8)
    every[0].invert_yaxis()
    figure.suptitle(f"change of recall without each signal, {result.arguments['embedder']}", fontsize=10)


def _recall_bars(axes: Any, recall: dict[str, Any]) -> None:
    cutoffs = [name for name in recall[ALL] if name.startswith("@")]
    width = 0.8 / len(cutoffs)
    for number, cutoff in enumerate(cutoffs):
        places = [group + number * width for group in range(len(recall))]
        shade = 0.45 + 0.55 * (number + 1) / len(cutoffs)
        bars = axes.bar(
            places, [row[cutoff] for row in recall.values()], width, color=_BLUE, alpha=shade, label=cutoff
        )
        axes.bar_label(bars, fmt="%.2f", fontsize=7, padding=1)
    axes.set_xticks(
        [group + 0.4 - width / 2 for group in range(len(recall))], list(recall), rotation=20, ha="right"
    )
    axes.set_ylim(0, 1.15)
    axes.set_ylabel("recall")
    axes.legend(loc="upper right", ncols=len(cutoffs), fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _scale(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    cases = [result.measures["one_tenant"], result.measures["small_tenant"]]
    for offset, what, colour in ((0.0, "search_ms", _BLUE), (0.35, "floor_ms", _GREY)):
        heights = [case[what]["p50"] for case in cases]
        bars = axes.bar(
            [offset, 1 + offset], heights, 0.33, color=colour, label=f"{what.removesuffix('_ms')} p50"
        )
        axes.bar_label(bars, fmt="%.1f", fontsize=8)
    names = [
        f"one tenant\n{cases[0]['rows']:,} rows",
        f"small tenant\n{cases[1]['rows']:,} of {cases[0]['rows']:,} rows",
    ]
    axes.set_xticks([0.175, 1.175], names)
    axes.set_ylabel("ms")
    axes.set_title("A small tenant beside a big one")
    axes.margins(y=0.2)
    axes.legend(fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _growth(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    growth = result.measures["growth"]
    rows = [point["rows"] for point in growth]
    for what, colour, style in (("search_ms", _BLUE, "-"), ("floor_ms", _GREY, "--")):
        name = what.removesuffix("_ms")
        for cut, form, marker in (("p50", style, "o"), ("p95", ":", ".")):
            times = [point[what][cut] for point in growth]
            axes.plot(rows, times, form, marker=marker, color=colour, label=f"{name} {cut}")
    axes.set_xscale("log")
    axes.set_xticks(rows, [f"{count:,}" for count in rows])
    axes.set_xticks([], minor=True)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("memories of one tenant")
    axes.set_ylabel("ms")
    axes.set_title("Search as one tenant grows")
    axes.legend(fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _serve(figure: Any, result: Result) -> None:
    left, middle, right = figure.subplots(1, 3)
    curve = result.measures["curve"]
    clients = [str(one["clients"]) for one in curve]
    left.plot(clients, [one["per_s"] for one in curve], marker="o", color=_BLUE)
    left.axhline(0.7 * result.measures["base"]["per_s"], color=_GREY, linestyle="--", linewidth=1)
    left.set_ylim(bottom=0)
    left.set_title("requests per second", fontsize=9)
    for name, colour in (("p50", _BLUE), ("p95", _LIGHT), ("p99", _GREY)):
        middle.plot(clients, [one["ms"][name] for one in curve], marker="o", color=colour, label=name)
    middle.set_ylim(bottom=0)
    middle.set_title("milliseconds", fontsize=9)
    middle.legend(fontsize=8)
    looks = result.measures["memory"]["looks"]
    right.plot([at for at, _ in looks], [mb for _, mb in looks], color=_BLUE)
    right.set_ylim(bottom=0)
    right.set_xlabel("seconds", fontsize=8)
    right.set_title("the server's memory, MB", fontsize=9)
    for axes in (left, middle):
        axes.set_xlabel("clients", fontsize=8)
    for axes in (left, middle, right):
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{result.arguments['n']:,} memories, ninety reads to ten writes", fontsize=10)


def _cluster(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    sizes = result.measures["sizes"]
    bars = [(name, verb) for verb in ("search_ms", "add_ms") for name in ("one", "cluster")]
    for number, (name, verb) in enumerate(bars):
        places = [place + 0.2 * number for place in range(len(sizes))]
        heights = [point[name]["alone"][verb]["p50"] for point in sizes]
        where = "one machine" if name == "one" else "cluster"
        axes.bar(places, heights, 0.18, label=f"{verb.removesuffix('_ms')}, {where}")
    axes.set_xticks(
        [place + 0.3 for place in range(len(sizes))], [f"{point['workers']} workers" for point in sizes]
    )
    axes.set_ylabel("ms, median of one client")
    axes.legend()


def _start(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    names = {
        "first_ever": "first ever",
        "search_stopped": "search, server stopped",
        "search_running": "search, server runs",
        "import_client": "from recollect import Recollect",
        "import": "import recollect",
    }
    medians = [result.measures[name]["median"] for name in names]
    bars = axes.barh(list(names.values()), medians, color=[_LIGHT, _BLUE, _BLUE, _GREY, _GREY])
    axes.bar_label(bars, fmt="%.3f s", fontsize=8, padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("seconds, median")
    axes.set_title("A fresh process")
    axes.spines[["top", "right"]].set_visible(False)


def _temporal(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    accuracy = result.measures["accuracy"]
    names = [f"{kind}\n{row['cases']} texts" for kind, row in accuracy.items()]
    bars = axes.bar(names, [row["right"] for row in accuracy.values()], 0.6, color=_BLUE)
    axes.bar_label(bars, fmt="%.3f", fontsize=8, padding=2)
    axes.axhline(result.bars[0].bar, color=_GREY, linestyle="--", linewidth=1)
    axes.set_ylim(0, 1.1)
    axes.set_ylabel("read rightly")
    axes.set_title("Times that texts name")
    axes.spines[["top", "right"]].set_visible(False)


def _peers(figure: Any, result: Result) -> None:
    stores = result.measures["stores"]
    for axes, (title, value) in zip(
        figure.subplots(1, 2, sharey=True),
        [
            ("recall@10", {name: found["recall"] for name, found in stores.items()}),
            ("hits of 10 for a small tenant", {name: found["hits"] for name, found in stores.items()}),
        ],
        strict=True,
    ):
        axes.barh(list(value), list(value.values()), 0.6, color=_BLUE)
        axes.invert_yaxis()
        axes.set_title(title)
        axes.spines[["top", "right"]].set_visible(False)


def _profile(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    waited = sorted(result.measures["waited_ms"].items(), key=lambda item: item[1])
    axes.barh([name for name, _ in waited], [ms for _, ms in waited], 0.6, color=_BLUE)
    axes.set_xlabel("waited for the database, ms per search")
    axes.spines[["top", "right"]].set_visible(False)


def _answers(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    told = {source: row["auc"] for source, row in result.measures["told"].items() if row["auc"] is not None}
    axes.bar(list(told), list(told.values()), 0.6, color=_BLUE)
    axes.set_ylim(0.5, 1.0)
    axes.set_ylabel("AUC")
    axes.tick_params(axis="x", rotation=60, labelsize=7)
    axes.set_title("What answers, told from what does not")
    axes.spines[["top", "right"]].set_visible(False)


def _learning(figure: Any, result: Result) -> None:
    left, middle, right = figure.subplots(1, 3)
    measures = result.measures
    for curve in measures["curves"]:
        left.plot(range(1, len(curve) + 1), curve, color=_LIGHT, linewidth=0.8)
    means = [sum(values) / len(values) for values in zip(*measures["curves"], strict=True)]
    left.plot(range(1, len(means) + 1), means, color=_BLUE)
    left.set_xlabel("batch")
    left.set_title("reward while training", fontsize=9)
    names = ["untrained", "trained", "base"]
    for axes, what in ((middle, "reward"), (right, "subcalls")):
        heights = [measures["policies"][name][what] for name in names]
        bars = axes.bar(names, heights, color=[_GREY, _BLUE, _LIGHT])
        axes.bar_label(bars, fmt="%.3f" if what == "reward" else "%.2f", fontsize=8)
    gain = measures["gain"]
    middle.set_title(
        f"reward, templates held out\n{gain['mean']:+.3f} ({gain['low']:+.3f} to {gain['high']:+.3f})",
        fontsize=9,
    )
    right.set_title("tool calls", fontsize=9)
    for axes in (left, middle, right):
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)


def _library(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    shares = [bar for bar in result.bars if not bar.at_most and bar.bar < 1]
    names = [textwrap.fill(bar.name, 18) for bar in shares]
    bars = axes.bar(names, [bar.value for bar in shares], 0.6, color=_BLUE)
    axes.bar_label(bars, fmt="%.2f", fontsize=8, padding=2)
    for place, bar in enumerate(shares):
        axes.hlines(bar.bar, place - 0.4, place + 0.4, color=_GREY, linestyle="--", linewidth=1)
    axes.set_ylim(0, 1.1)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_title("Two manuals in a library, without a model")
    axes.spines[["top", "right"]].set_visible(False)


def _supersession(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    halves = [name for name, one in result.measures.items() if "recall" in one]
    for offset, what, colour in ((0.0, "retired", _BLUE), (0.35, "wrong", _GREY)):
        heights = [result.measures[name][what] for name in halves]
        bars = axes.bar(
            [place + offset for place in range(len(halves))], heights, 0.33, color=colour, label=what
        )
        axes.bar_label(bars, fontsize=8)
    axes.set_xticks([place + 0.175 for place in range(len(halves))], halves)
    axes.set_title("Facts retired by newer ones, rightly and wrongly")
    axes.legend(fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _near(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    groups = result.measures["figures"]
    for place, (name, colour) in enumerate((("answered first", _BLUE), ("silent", _GREY))):
        places = [group + 0.4 * place for group in range(len(groups))]
        axes.bar(places, [row[name] for row in groups.values()], 0.4, color=colour, label=name)
    axes.set_xticks([group + 0.2 for group in range(len(groups))], list(groups))
    axes.set_ylim(0, 1)
    axes.set_title("Questions about a note, and about its neighbour")
    axes.legend(fontsize=8)


def _poisoning(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    kinds = {name: one for name, one in result.measures.items() if "effects" in one}
    for what, colour in (("attacks", _GREY), ("effects", _BLUE)):
        axes.bar(list(kinds), [one[what] for one in kinds.values()], 0.6, color=colour, label=what)
    axes.set_title("Attacks, and how many take effect")
    axes.legend(fontsize=8)


def _dense(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    names = [name.replace(", ", "\n") for name in result.measures]
    places = range(len(names))
    found = list(result.measures.values())
    axes.bar(
        [at - 0.2 for at in places],
        [one["exact by rows"] for one in found],
        0.4,
        color=_BLUE,
        label="by rows",
    )
    direct = [one["direct"]["exact"] for one in found]
    axes.bar([at + 0.2 for at in places], direct, 0.4, color=_GREY, label="direct reading, as it is")
    axes.set_xticks(list(places), names, fontsize=7)
    axes.set_ylim(0, 1.1)
    axes.set_title("Dense questions answered exactly")
    axes.legend(fontsize=7, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def _local(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    seconds = [one["seconds"] for one in result.measures.values()]
    bars = axes.barh(list(result.measures), seconds, color=_BLUE)
    axes.bar_label(bars, fmt="%.0f s", fontsize=8, padding=2)
    axes.invert_yaxis()
    axes.set_title(f"Seconds for an answer of {result.arguments['model']}")
    axes.spines[["top", "right"]].set_visible(False)


def _models(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    names = [f"{name}\n{one['window']:,}" for name, one in result.measures.items()]
    bars = axes.bar(names, [one["shown"] for one in result.measures.values()], color=_BLUE)
    axes.bar_label(bars, fmt="%.2f", fontsize=8, padding=2)
    axes.set_ylim(0, 1.1)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_title("Share of what calls have to give that the last request shows")
    axes.spines[["top", "right"]].set_visible(False)


def _route(figure: Any, result: Result) -> None:
    axes = figure.subplots()
    accuracy = result.measures["accuracy"]
    names = [f"{half}\n{row['questions']} questions" for half, row in accuracy.items()]
    shares = [row["right"] for row in accuracy.values()]
    for name, row in result.measures["elsewhere"].items():
        names.append(f"{name}\n{row['questions']:,} questions")
        shares.append(1 - row["share"])
    colours = [_BLUE] * len(accuracy) + [_LIGHT] * (len(names) - len(accuracy))
    bars = axes.bar(names, shares, 0.6, color=colours)
    axes.bar_label(bars, fmt="%.3f", fontsize=8, padding=2)
    axes.axhline(result.bars[0].bar, color=_GREY, linestyle="--", linewidth=1)
    axes.set_ylim(0, 1.1)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_ylabel("sent rightly")
    axes.set_title("Routing: labelled questions, and simple ones of other sets")
    axes.spines[["top", "right"]].set_visible(False)


def _aggregation(figure: Any, result: Result) -> None:
    left, right = figure.subplots(1, 2)
    thresholds = list(result.measures["routed"])
    wide, narrow = result.measures["routed"][thresholds[0]]
    for axes, limit, what, bar in (
        (left, wide, "coverage", result.bars[0].bar),
        (right, narrow, "telling_teams", result.bars[1].bar),
    ):
        for offset, path, colour in ((0.0, "routed", _BLUE), (0.38, "flat", _GREY)):
            heights = [result.measures[path][name][limit][what] for name in thresholds]
            places = [place + offset for place in range(len(thresholds))]
            bars = axes.bar(places, heights, 0.36, color=colour, label=path)
            axes.bar_label(bars, fmt="%.2f", fontsize=8, padding=2)
        axes.axhline(bar, color=_GREY, linestyle="--", linewidth=1)
        axes.set_xticks([place + 0.19 for place in range(len(thresholds))], thresholds)
        axes.set_ylim(0, bar * 1.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, loc="lower right")
    left.set_title(f"share of the teams covered, {wide}", fontsize=10)
    right.set_title(f"different teams with a hit on the topic, {narrow}", fontsize=10)
    count = result.measures["memories"]
    figure.suptitle(f"'compare X across all teams', {result.measures['teams']} teams, {count:,} memories")
