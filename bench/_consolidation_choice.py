"""Which tool does a model choose when the form is given to it? Prompts and the names of tools in, one name each out.

A model that cannot write a call fails however much it knows. Here it writes under constraint, as servers with a grammar have it:
of the tokens that can begin a call of a tool at hand the likeliest is taken, until one tool is left. What it then gets right
it knows; what it gets wrong beside a free answer that is right cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from tacit.features.evaluate.conversation import ChatMessage, format_tool_call
from tacit.features.evaluate.local_model import GPU_TOKENS, LocalModel, prompts, split_into_batches
from tacit.features.evaluate.tool import Call

MOST_TOKENS = GPU_TOKENS // 2


@dataclass(slots=True)
class _Row:
    """One question: what is asked, and the beginnings of calls that are still possible."""

    asked: list[int]
    left: dict[str, list[int]]

    def take(self, token: int, depth: int) -> None:
        self.left = {name: tokens for name, tokens in self.left.items() if tokens[depth] == token}

    def allowed(self, depth: int) -> list[int]:
        return sorted({tokens[depth] for tokens in self.left.values()})


def choose(
    model: LocalModel,
    conversations: Sequence[Sequence[ChatMessage]],
    tools: Sequence[Sequence[str]],
    *,
    adapter: str = "",
) -> list[str]:
    """The tool that the model calls in each conversation, if it calls one of those at hand."""
    tokenizer = model.base.tokenizer
    names = sorted({name for each in tools for name in each})
    begun = dict(zip(names, _beginnings(names, tokenizer), strict=True))
    rows = [
        _Row(asked, {name: begun[name] for name in each})
        for asked, each in zip(prompts(conversations, tokenizer), tools, strict=True)
    ]
    with model.with_adapter(adapter):
        for batch in split_into_batches(range(len(rows)), [len(row.asked) for row in rows], most_tokens=MOST_TOKENS):
            _decide(model, [rows[one] for one in batch])
    return [next(iter(row.left)) for row in rows]


def _beginnings(names: Sequence[str], tokenizer: Any) -> list[list[int]]:
    """Calls up to their arguments, without what all of them share at their end."""
    texts = [format_tool_call(Call(tool=name, arguments={})).partition("{}")[0] for name in names]
    return list(tokenizer(texts, add_special_tokens=False)["input_ids"])


def _shared(sequences: Sequence[Sequence[int]]) -> list[int]:
    """What all begin with."""
    alike = takewhile(lambda column: len(set(column)) == 1, zip(*sequences, strict=False))
    return [column[0] for column in alike]


def _decide(model: LocalModel, rows: Sequence[_Row]) -> None:
    """Walk on, all rows at once, until each has one tool left."""
    import torch
    from transformers import DynamicCache

    device, padding = model.base.device, model.base.tokenizer.pad_token_id or 0
    shared = _shared([tokens for row in rows for tokens in row.left.values()])
    texts = [[*row.asked, *shared] for row in rows]
    width = max(map(len, texts))
    ids = torch.tensor([[padding] * (width - len(text)) + text for text in texts], device=device)
    seen = torch.tensor([[0] * (width - len(text)) + [1] * len(text) for text in texts], device=device).bool()
    at = (seen.long().cumsum(-1) - 1).clamp(min=0)
    options = {"past_key_values": DynamicCache(config=model.base.model.config), "use_cache": True, "logits_to_keep": 1}
    depth = len(shared)
    with torch.inference_mode():
        logits = model.base.model(input_ids=ids, attention_mask=seen, position_ids=at, **options).logits[:, -1]
        at = at[:, -1:]
        while any(len(row.left) > 1 for row in rows):
            fresh = [
                _best(row, depth, logits[place]) if len(row.left) > 1 else padding for place, row in enumerate(rows)
            ]
            depth += 1
            at, seen = at + 1, torch.cat([seen, seen.new_ones((len(rows), 1))], 1)
            last = torch.tensor(fresh, device=device)[:, None]
            mask = seen[:, None, None, :]
            logits = model.base.model(input_ids=last, attention_mask=mask, position_ids=at, **options).logits[:, -1]


def _best(row: _Row, depth: int, logits: Any) -> int:
    allowed = row.allowed(depth)
    token = allowed[0] if len(allowed) == 1 else allowed[int(logits[allowed].argmax())]
    row.take(token, depth)
    return token
