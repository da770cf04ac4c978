"""Ask worlds through the public search and keep what the judge saw of every candidate, for `calibrate.py`.

A world's own questions are asked, and some about the neighbours of what is noted in it (`siblings.py`).

python training/collect.py OUT.json WORLD...      (.world or .json; a store of its own, in a temporary home)
python training/collect.py OUT.json locomo.json   (every second question, to its own conversation and to another)
python training/collect.py OUT.json --strangers WORLD...   (the questions for lists of one world, to another)

The vectors of the memories are written beside it, to OUT.npz.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from examples import SEVERAL, from_world, speakers
from siblings import about_siblings, things_of
from worlds import read_world

from recollect import Recollect, TenantContext
from recollect.config import Settings
from recollect.providers.embedders import open_embedder
from recollect.retrieval.judge.statements import is_asker
from recollect.text.aim import read_aim
from recollect_bench.locomo import read_locomo
from recollect_bench.questions import KEY

#: As many as the judge reads: where all of a kind are wanted, and where one thing is.
LIMITS = 40, 16
#: The seed of the questions that are made for the neighbours of what is noted.
SEED = 1


def main(out: Path, paths: list[Path], *, strangers: bool) -> None:
    """Collect and write."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.load(home=Path(folder), recursion_threshold=1, learning=False)
        with Recollect(settings=settings) as store:
            others = paths[4:] + paths[:4] if strangers else [None] * len(paths)
            rows = [
                row for path, other in zip(paths, others, strict=True) for row in _asked(store, path, other)
            ]
            embedder = open_embedder("arctic", cache_dir=Path(folder))
            texts = {
                (row["world"], hit["key"]): f"{hit['speaker']}: {hit['text']}"
                if hit["speaker"]
                else hit["text"]
                for row in rows
                for hit in row["hits"]
            }
            vectors = {
                f"{world}/{key}": vector.astype(np.float16)
                for (world, key), vector in zip(texts, embedder.embed(list(texts.values())), strict=True)
            }
    out.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    np.savez(out.with_suffix(".npz"), **vectors)


def _asked(store: Recollect, path: Path, other: Path | None) -> list[dict[str, Any]]:
    """What a world gives for its own questions, or for those of an `other` world that ask for all of a kind."""
    world = read_world(path) if path.suffix == ".world" else json.loads(path.read_text())
    if other is not None:
        asker = {"as": world["questions"][0]["as"], "kind": "absent", "answers": []}
        lists = [one["question"] for one in read_world(other)["questions"] if one["kind"] in SEVERAL]
        world["questions"] = [{"question": question, **asker} for question in lists]
    elif path.suffix == ".world":
        world["questions"] += _next_door(world)
    if isinstance(world, list):
        world = _conversations(path)
    tenant = f"world-{path.stem}"
    store.tenants.create(tenant)
    admin = store.for_context(TenantContext(tenant_id=tenant, user_id="owner", roles=("admin",)))
    for scope in world.get("scopes") or []:
        admin.scopes.create(_team(scope["scope"]))
        for user in scope["members"]:
            admin.members.add(user, _team(scope["scope"]))
    for item in world["items"]:
        given = {name: item[name] for name in ("type", "conversation", "speaker", "scope") if name in item}
        if not given.get("scope", "user/").startswith("user/"):
            given["scope"] = _team(given["scope"])
        who = (
            store.for_context(TenantContext(tenant_id=tenant, user_id=item["user"]))
            if "user" in item
            else admin
        )
        who.add(
            item["text"],
            metadata={"key": item["key"]},
            created_at=datetime.fromisoformat(item["created_at"]),
            **given,
        )
    now = datetime.fromisoformat(world["now"]) if "now" in world else None
    rows = []
    for question in world["questions"]:
        roles = ("admin",) if "scope" in question else ()
        asker = store.for_context(TenantContext(tenant_id=tenant, user_id=question["as"], roles=roles))
        asked = {"scope": question["scope"]} if "scope" in question else {}
        limit = LIMITS[not read_aim(question["question"]).want.several]
        hits = asker.search(question["question"], now=now, threshold=0.0, limit=limit, explain=True, **asked)
        rows.append(
            {
                **question,
                "world": question.get("scope", path.stem).removeprefix("user/"),
                "hits": [
                    {
                        "key": hit.metadata["key"],
                        "at": hit.created_at.isoformat(),
                        "layer": hit.layer.precedence,
                        "text": hit.text,
                        "speaker": hit.speaker,
                        "own": is_asker(hit.speaker, question["as"])
                        if hit.speaker
                        else hit.scope == f"user/{question['as']}",
                        "found_by": hit.explanation.sources if hit.explanation else (),
                        "evidence": dict(hit.explanation.evidence) if hit.explanation else {},
                    }
                    for hit in hits
                ],
            }
        )
    print(path.stem, len(rows), flush=True)
    return rows


def _next_door(world: dict[str, Any]) -> list[dict[str, Any]]:
    """Questions that nothing answers, each one word away from one of the world's."""
    draw = random.Random(SEED)
    everything = from_world(world, embed=_alike, embed_queries=_alike, every=True)
    names = sorted({name for example in everything for name in speakers(example)})
    things = things_of(everything)
    return [
        {"question": made.question, "as": question["as"], "kind": "absent", "answers": []}
        for question, example in zip(world["questions"], everything, strict=True)
        for made in about_siblings(example, names, things, draw)
        if not any(made.labels)
    ]


def _alike(texts: list[str]) -> np.ndarray:
    """Vectors for whoever needs no order: all the same."""
    return np.ones((len(texts), 1))


def _conversations(path: Path) -> dict[str, Any]:
    """LoCoMo as one world: each question asked of its own conversation, and of another, which can't answer it."""
    corpus = read_locomo(path)
    items = [
        {**item, "key": item["metadata"][KEY], "created_at": item["created_at"].isoformat()}
        for item in corpus.items
    ]
    scopes = list(dict.fromkeys(question.scope for question in corpus.questions))
    questions = []
    for number, question in enumerate(corpus.questions[::2]):
        others = [scope for scope in scopes if scope != question.scope]
        asked = {"question": question.text, "as": "owner"}
        own = {"scope": question.scope, "kind": question.group, "answers": sorted(question.gold)}
        foreign = {"scope": others[number % len(others)], "kind": "absent", "answers": []}
        questions += [asked | own, asked | foreign]
    return {"items": items, "questions": questions}


def _team(scope: str) -> str:
    """A world's scope as a team: some worlds name layers that the store does not have."""
    return f"team/{scope.replace('/', '-')}"


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--strangers"]
    main(Path(names[0]), [Path(name) for name in names[1:]], strangers="--strangers" in sys.argv)
