"""Write what the judge is trained on: our worlds, questions next door to theirs, our kinds, open question sets.

    python training/prepare.py examples.json --answers train.jsonl.gz

The memories nearest to a question are found by an embedder; arctic finds nearer ones than the quick wordllama.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path

import numpy as np
from examples import SEVERAL, Example, from_open_sets, from_world, speakers, spread
from kinds import FOLDER as KINDS
from kinds import HELD_BACK as KINDS_HELD_BACK
from kinds import from_kinds
from siblings import about_siblings, things_of
from worlds import FOLDER, HELD_BACK, read_world

from recollect.providers.embedders import open_embedder
from recollect.providers.judge.model import open_judge

SEED = 1


def main() -> None:
    """Read all sources, print what they give, write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--answers", type=Path, required=True, help="the open sets")
    parser.add_argument("--open-questions", type=int, default=3500, help="how many of their questions")
    parser.add_argument("--kinds", type=int, default=10_000, help="how many questions for a kind, at most")
    parser.add_argument("--share", type=float, default=1.0, help="of a world's questions with one answer")
    parser.add_argument("--embedder", default="arctic", help="by which near misses are found")
    parser.add_argument("--all-worlds", action="store_true", help="those held back for calibration too")
    parser.add_argument(
        "--mine", action="store_true", help="near misses are what the shipped judge falls for"
    )
    options = parser.parse_args()
    examples: list[Example] = []
    with tempfile.TemporaryDirectory() as folder:
        embedder = open_embedder(options.embedder, cache_dir=Path(folder))
        read = open_judge(cache_dir=Path(folder)).read if options.mine else None
        for number, path in enumerate(sorted(FOLDER.glob("*.world"))):
            if options.all_worlds or path.stem not in HELD_BACK:
                world = read_world(path)
                examples += from_world(
                    world,
                    embed=embedder.embed,
                    embed_queries=lambda texts: np.array([embedder.embed_query(text) for text in texts]),
                    read=read,
                    seed=number,
                )
    draw = random.Random(SEED)
    names = sorted({name for example in examples for name in speakers(example)})
    things = things_of(examples)
    near = [question for example in examples for question in about_siblings(example, names, things, draw)]
    examples = [example for example in examples if draw.random() < _share(example, options.share)]
    kinds = from_kinds(sorted(path for path in KINDS.glob("*.kinds") if path.stem not in KINDS_HELD_BACK))
    others = from_open_sets(options.answers, seed=SEED)
    draw.shuffle(kinds)
    draw.shuffle(others)
    examples += near + kinds[: options.kinds] + others[: options.open_questions]
    print(spread(examples))
    rows = [[one.source, one.question, one.statements, one.labels] for one in examples]
    options.out.write_text(json.dumps(rows), encoding="utf-8")


def _share(example: Example, share: float) -> float:
    """Of questions with no answer or with several, which are fewer, twice the share is taken."""
    kind = example.source.rsplit(":", 1)[-1]
    return 2 * share if kind == "absent" or kind in SEVERAL else share


if __name__ == "__main__":
    main()
