"""Write what the judge is trained on: our worlds, our kinds, and a share of the open question sets.

    python training/prepare.py examples.json --answers train.jsonl.gz

Needs the embedder arctic, by which the memories nearest to a question are found.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path

import numpy as np
from examples import Example, from_open_sets, from_world, spread
from kinds import FOLDER as KINDS
from kinds import HELD_BACK as KINDS_HELD_BACK
from kinds import from_kinds
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
    parser.add_argument("--all-worlds", action="store_true", help="those held back for calibration too")
    parser.add_argument(
        "--mine", action="store_true", help="near misses are what the shipped judge falls for"
    )
    options = parser.parse_args()
    examples: list[Example] = []
    with tempfile.TemporaryDirectory() as folder:
        embedder = open_embedder("arctic", cache_dir=Path(folder))
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
    examples += from_kinds(sorted(path for path in KINDS.glob("*.kinds") if path.stem not in KINDS_HELD_BACK))
    print(spread(examples))
    others = from_open_sets(options.answers, seed=SEED)
    random.Random(SEED).shuffle(others)
    print(spread(others[: options.open_questions]))
    rows = [
        [one.source, one.question, one.statements, one.labels]
        for one in examples + others[: options.open_questions]
    ]
    options.out.write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
