"""A tokenizer small enough to read: ChatML, a token for each mark, and one for each word or single character besides."""

from __future__ import annotations

import re
from collections.abc import Sequence

MARKS = ("<|im_start|>", "<|im_end|>")
_PIECE = re.compile(r"<\|im_start\|>|<\|im_end\|>|\w+|.", re.DOTALL)


class ChatML:
    """Speaks the part of a tokenizer's interface that is used here."""

    all_special_ids = (0,)
    """Not all marks: which of them are called special differs between versions of the library."""

    def __init__(self, *, joins: bool = False, forgets: bool = False, end: str = MARKS[1]) -> None:
        self.known = list(MARKS)
        self.joins, self.forgets, self.end = joins, forgets, end

    def apply_chat_template(
        self, messages: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> str:
        assert not tokenize
        text_seen = [dict(message) for message in messages]
        if self.forgets:  # as templates do that drop what was thought in earlier turns
            for message in text_seen[:-1]:
                message["content"] = (
                    message["content"].upper() if message["role"] == "assistant" else message["content"]
                )
        laid = "".join(f"<|im_start|>{each['role']}\n{each['content']}{self.end}\n" for each in text_seen)
        return laid + ("<|im_start|>assistant\n" if add_generation_prompt else "")

    def __call__(self, texts: Sequence[str], *, add_special_tokens: bool) -> dict[str, list[list[int]]]:
        assert not add_special_tokens
        return {"input_ids": [self.cut(text) for text in texts]}

    def get_added_vocab(self) -> dict[str, int]:
        return {mark: place for place, mark in enumerate(MARKS)}

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.known[one] for one in ids)

    def cut(self, text: str) -> list[int]:
        pattern = re.compile(r"\n<|" + _PIECE.pattern, re.DOTALL) if self.joins else _PIECE
        pieces = pattern.findall(text)
        self.known += [piece for piece in dict.fromkeys(pieces) if piece not in self.known]
        return [self.known.index(piece) for piece in pieces]
