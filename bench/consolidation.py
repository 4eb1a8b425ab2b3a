"""Does an adapter add anything on top of retrieval? SmolLM2-135M, the next call of held-out shop tasks, eight arms, a curve.

    PYTHONPATH=src python bench/consolidation.py prepare --retail DATA --bfcl DATA --work FOLDER        # any machine
    PYTHONPATH=src python bench/consolidation.py run --work FOLDER --base MODEL.gguf --out FOLDER       # one with a GPU; with
                                                                         # `--seed 0`, 1, 2: side by side, each its --out
    PYTHONPATH=src python bench/consolidation.py tell --retail DATA --bfcl DATA --out FOLDER …          # any machine

`prepare` makes datasets and prompts, `run` trains and answers, `tell` scores the answers and writes the table, the plots and the
verdict: `bench/results/consolidation.json` and `.svg`. With `--only forgetting`, `prepare` and `tell` care for nothing but what
is forgotten of the shop while a second domain is learned, with ever more replay: `bench/results/consolidation_replay.json`. The three are apart because the machine with the accelerator
may have nothing but torch, and must not have the test answers.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def main() -> int:
    """One of the three parts."""
    parser = argparse.ArgumentParser(description="consolidation against retrieval")
    parser.add_argument("part", choices=("prepare", "run", "tell"))
    parser.add_argument("--retail", type=Path, help="folder with train_gold.jsonl and test_visible_gold.jsonl")
    parser.add_argument("--bfcl", type=Path, help="folder with turns.jsonl.gz and tools.json")
    parser.add_argument("--only", choices=("forgetting",), help="prepare and tell nothing but what is forgotten")
    parser.add_argument("--work", type=Path, default=Path("build/consolidation"))
    parser.add_argument("--base", default="", help="the base model: a GGUF file, a folder or a hub id")
    parser.add_argument("--size", default="large", help="size of the adapters")
    parser.add_argument("--adapters", type=Path, help="where trained adapters go; beside --out if not given")
    parser.add_argument("--seed", type=int, help="only the work of this seed")
    parser.add_argument("--seconds", type=float, default=3600.0, help="no job is begun after so many")
    parser.add_argument("--out", type=Path, nargs="+", default=[Path("build/consolidation-out")], help="answers")
    parser.add_argument("--results", type=Path, default=Path("bench/results"))
    options = parser.parse_args()
    if options.part == "prepare":
        from _consolidation_data import prepare, prepare_forgetting

        fill = prepare_forgetting if options.only else prepare
        fill(options.retail, options.bfcl, options.work)
    elif options.part == "run":
        from _consolidation_run import Runner

        out = options.out[0]
        adapters = options.adapters or out.with_name(f"{out.name}-adapters")
        runner = Runner(options.work, options.base, out=out, adapters=adapters, size=options.size)
        runner.run(seconds=options.seconds, seed=options.seed)
    else:
        from _consolidation_forgetting import tell_forgetting
        from _consolidation_tell import tell

        say = tell_forgetting if options.only else tell
        say(options.retail, options.bfcl, outs=options.out, results=options.results)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
