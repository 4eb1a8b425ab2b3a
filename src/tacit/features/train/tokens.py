"""Chat messages in, a model's tokens out: what it is asked, and what of it it is to learn.

Only the agent's own words and the mark that ends its turn are learned; task, tools, aid and answers are context. The text
is laid out by the model's own chat template, and is checked to be what the model sees when it is asked: a template or a
tokenizer for which the two differ is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.domain.errors import Refusal
from tacit.features.train.conversation import AGENT, SYSTEM, USER, Message
from tacit.features.train.examples import Example

IGNORED = -100
"""The label of a token that is not learned."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One conversation as tokens; a label is the token itself where it is learned, else `IGNORED`."""

    ids: tuple[int, ...]
    labels: tuple[int, ...]

    @property
    def learned(self) -> int:
        """How many tokens are learned."""
        return sum(label != IGNORED for label in self.labels)


def encode(messages: Sequence[Message], tokenizer: Any, *, silent: Collection[int] = ()) -> Encoded:
    """One whole conversation as tokens with labels; the messages at the silent places are shown and not learned."""
    example = Example(task="", trajectory_id="", messages=tuple(messages), silent=tuple(silent))
    found = encode_all([example], tokenizer)
    if not found:
        raise Refusal("There is no word of the agent in this conversation: nothing could be learned from it.")
    return found[0]


def encode_all(examples: Sequence[Example], tokenizer: Any, *, longest: int = 0) -> list[Encoded]:
    """Examples as tokens with labels. One that is longer than `longest`, or holds nothing to learn, is left out."""
    closing = end_of_turn(tokenizer)[1]
    laid = [segments(example, tokenizer, closing=closing) for example in examples]
    wholes = _tokens(["".join(text for text, _ in parts) for parts in laid], tokenizer)
    pieces = iter(_tokens([text for parts in laid for text, _ in parts], tokenizer))
    encoded = []
    for parts, whole in zip(laid, wholes, strict=True):
        own = [(next(pieces), learned) for _, learned in parts]
        if [token for tokens, _ in own for token in tokens] != whole:
            raise Refusal(
                "This model's tokenizer joins the agent's words with what stands before or after them, so that it would be"
                " trained on other tokens than it is asked in.",
                hint="Choose a base model whose chat template marks the turns with tokens of their own.",
            )
        encoded.append(_labelled(own))
    return [one for one in encoded if one.learned and (not longest or len(one.ids) <= longest)]


def prompts(conversations: Sequence[Sequence[Message]], tokenizer: Any) -> list[list[int]]:
    """What the model is asked, as tokens: each conversation up to where the agent is to speak."""
    return _tokens([_laid_out(messages, tokenizer, asking=True) for messages in conversations], tokenizer)


def segments(example: Example, tokenizer: Any, *, closing: str) -> list[tuple[str, bool]]:
    """The text of an example in pieces: what is context, and what the agent is to say (with the mark that ends it)."""
    messages, learned = example.messages, example.learned
    whole = _laid_out(messages[: learned[-1] + 1], tokenizer, asking=False) if learned else ""
    parts: list[tuple[str, bool]] = []
    at = 0
    for place in learned:
        asked = _laid_out(messages[:place], tokenizer, asking=True)
        said = f"{messages[place].content}{closing}"
        if not whole.startswith(asked + said):
            raise Refusal(
                "This model's chat template lays out a conversation that goes on differently from one that is asked.",
                hint="Choose a base model with a plain chat template, such as ChatML.",
            )
        parts += [(whole[at : len(asked)], False), (said, True)]
        at = len(asked) + len(said)
    return parts


def end_of_turn(tokenizer: Any) -> tuple[int, str]:
    """The token that ends an agent's turn in this model's template, and its text."""
    question = [Message(SYSTEM, "a"), Message(USER, "b")]
    asked = _laid_out(question, tokenizer, asking=True)
    answered = _laid_out([*question, Message(AGENT, "c")], tokenizer, asking=False)
    after = answered.removeprefix(f"{asked}c")
    tokens = _tokens([after], tokenizer)[0] if after != answered else []
    text = tokenizer.decode(tokens[:1]) if tokens else ""
    # Which marks are called special differs between versions of the library; that they are added to the words does not.
    marks = {*tokenizer.all_special_ids, *tokenizer.get_added_vocab().values()}
    if not text or tokens[0] not in marks or not after.startswith(text):
        raise Refusal(
            "This model's chat template ends an agent's turn with no token of its own, so that it could not learn to stop.",
            hint="Choose a base model that was trained to chat (…-Instruct).",
        )
    return tokens[0], text


def _labelled(own: Sequence[tuple[Sequence[int], bool]]) -> Encoded:
    ids: list[int] = []
    labels: list[int] = []
    for tokens, learned in own:
        ids += tokens
        labels += tokens if learned else [IGNORED] * len(tokens)
    return Encoded(tuple(ids), tuple(labels))


def _laid_out(messages: Sequence[Message], tokenizer: Any, *, asking: bool) -> str:
    said = [{"role": message.role, "content": message.content} for message in messages]
    return str(tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=asking))


def _tokens(texts: Sequence[str], tokenizer: Any) -> list[list[int]]:
    """The template has written every mark that the model expects, so none is added."""
    return list(tokenizer(list(texts), add_special_tokens=False)["input_ids"]) if texts else []
