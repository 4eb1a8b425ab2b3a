"""A model behind a server that speaks OpenAI's protocol: conversations → what is said next in each. Standard library only.

llama.cpp lays an adapter over the model request by request (`lora` with its number and a scale of 0 or 1); vLLM and most
others serve an adapter as a model of its own name. Nothing is drawn by lot: the temperature is 0. Knows nothing of tools.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.domain.errors import Mistake, ModelOutage, Outage
from tacit.providers.http import TIMED_OUT, TOO_LARGE, HttpResponse, check_url, post
from tacit.text.words import credible_tokens, estimate_tokens

TIMEOUT_S = 120.0
AT_ONCE = 8
_BYTES_MAX = 16 << 20
_PAUSES_S = (0.0, 1.0, 2.0)
"""Before each try."""
_SHOWN = 200
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that another try may change."""


class Message(Protocol):
    """One message of a chat."""

    @property
    def role(self) -> str:
        """Who speaks."""

    @property
    def content(self) -> str:
        """What is said."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What was said, and how many tokens were read and said for it."""

    text: str
    context_tokens: int
    output_tokens: int


class ChatServer:
    """A model that is asked over the network."""

    def __init__(self, url: str, *, model: str = "", key: str = "", timeout_s: float = TIMEOUT_S) -> None:
        """`url` is the address before `/chat/completions`; `model` is the server's name of the model without an adapter."""
        check_url(url, example="http://127.0.0.1:8080/v1, and the key in TACIT_MODEL_KEY")
        if not key.isascii() or not key.isprintable():
            raise Mistake(
                "the key holds characters that no request can carry", code="bad_key", hint="copy TACIT_MODEL_KEY again"
            )
        self.url = f"{url.rstrip('/')}/chat/completions"
        self._model = model
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._timeout_s = timeout_s

    def complete(
        self, conversations: Sequence[Sequence[Message]], *, adapter: str = "", max_tokens: int = 96
    ) -> list[Completion]:
        """The next message of each conversation. An adapter that is a number is llama.cpp's; a name is another model's."""
        asked = [self._worded(conversation, adapter, max_tokens) for conversation in conversations]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(self._completed, asked))

    def _worded(self, conversation: Sequence[Message], adapter: str, max_tokens: int) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.content} for message in conversation]
        body: dict[str, Any] = {"messages": messages, "max_tokens": max_tokens, "temperature": 0, "seed": 0}
        if adapter.isdigit():
            return {**body, "model": self._model, "lora": [{"id": int(adapter), "scale": 1.0}]}
        if not adapter and not self._model:
            return {**body, "lora": []}  # a server of one model: no name is needed, and no adapter is meant
        return {**body, "model": adapter or self._model}

    def _completed(self, asked: Mapping[str, Any]) -> Completion:
        answer = self._posted(json.dumps(asked).encode())
        try:
            document = json.loads(answer)
            text = document["choices"][0]["message"]["content"] or ""
            usage = document.get("usage") or {}
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
            raise self._unreadable(answer) from error
        if not isinstance(text, str) or not isinstance(usage, dict):
            raise self._unreadable(answer)
        read = sum(estimate_tokens(each["content"]) for each in asked["messages"])
        return Completion(
            text,
            context_tokens=credible_tokens(usage.get("prompt_tokens") or None, otherwise=read),
            output_tokens=credible_tokens(usage.get("completion_tokens") or None, otherwise=estimate_tokens(text)),
        )

    def _unreadable(self, answer: bytes) -> ModelOutage:
        return ModelOutage(f"{self.url} answered in another form: {answer[:120]!r}", code="unreadable_answer")

    def _posted(self, body: bytes) -> bytes:
        """What the server says; a few tries may be needed for it, and all of them together have the time of one answer."""
        until = time.monotonic() + self._timeout_s
        code, problem, hint = TIMED_OUT, "", "is the server running?"
        for pause_s in _PAUSES_S:
            if until - time.monotonic() <= pause_s:
                problem = problem or f"{self._timeout_s:g} seconds were too short"
                break
            time.sleep(pause_s)
            left_s = until - time.monotonic()
            try:
                answer = post(self.url, body, headers=self._headers, timeout_s=left_s, max_bytes=_BYTES_MAX)
            except Outage as error:
                code, problem = error.code, error.message
                if error.code == TIMED_OUT:
                    problem = f"not within {self._timeout_s:g} seconds"
                    break
                if error.code == TOO_LARGE:
                    hint = "ask for fewer tokens, or ask another server"
                    break
                continue
            if answer.is_success:
                return answer.data
            code, problem, hint = _refused(answer)
            if answer.status not in _PASSING:
                break
        raise ModelOutage(f"{self.url} gave no answer: {problem}", code=code, hint=hint, retryable=True)


def _refused(answer: HttpResponse) -> tuple[str, str, str]:
    """The code of a refusal, the server's words, and what to do."""
    reply_text = f"{answer.status} {answer.reason}: {answer.data[:_SHOWN].decode('utf-8', 'replace')}"
    if answer.is_redirect:
        hint = "it redirects, and a key is sent to no other host than the one named: name the one that answers"
        return "redirected", reply_text, hint
    return "refused_by_server", reply_text, "is the server running?"
