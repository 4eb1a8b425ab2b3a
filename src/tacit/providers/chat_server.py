"""A model behind a server that speaks OpenAI's protocol: conversations → what is said next in each. Standard library only.

llama.cpp lays an adapter over the model request by request (`lora` with its number and a scale of 0 or 1); vLLM and most
others serve an adapter as a model of its own name. Nothing is drawn by lot: the temperature is 0. Knows nothing of tools.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from tacit.domain.errors import Mistake, ModelOutage
from tacit.text.words import estimate_tokens

TIMEOUT_S = 120.0
AT_ONCE = 8
_BYTES_MAX = 16 << 20
_TRIES = 3
_PAUSE_S = 1.0
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
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise Mistake(f"{url!r} is no web address", hint="http://127.0.0.1:8080/v1")
        if address.username or address.password:
            raise Mistake("the address of the server holds a login", hint="put the key into TACIT_MODEL_KEY")
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
        said = [{"role": message.role, "content": message.content} for message in conversation]
        body: dict[str, Any] = {"messages": said, "max_tokens": max_tokens, "temperature": 0, "seed": 0}
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
            raise ModelOutage(f"{self.url} answered in another form: {answer[:120]!r}") from error
        if not isinstance(text, str) or not isinstance(usage, dict):
            raise ModelOutage(f"{self.url} answered in another form: {answer[:120]!r}")
        read = usage.get("prompt_tokens") or sum(estimate_tokens(each["content"]) for each in asked["messages"])
        return Completion(text, int(read), int(usage.get("completion_tokens") or estimate_tokens(text)))

    def _posted(self, body: bytes) -> bytes:
        problem = ""
        for turn in range(_TRIES):
            if turn:
                time.sleep(_PAUSE_S * turn)
            request = urllib.request.Request(self.url, data=body, headers=self._headers, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=self._timeout_s) as response:
                    data: bytes = response.read(_BYTES_MAX + 1)
                if len(data) > _BYTES_MAX:
                    raise ModelOutage(f"{self.url} answered more than {_BYTES_MAX >> 20} megabytes")
                return data
            except urllib.error.HTTPError as error:
                with error:
                    problem = f"{error.code} {error.reason}: {error.read(200).decode('utf-8', 'replace')}"
                if error.code not in _PASSING:
                    break
            except (OSError, http.client.HTTPException) as error:
                problem = str(getattr(error, "reason", "")) or str(error) or type(error).__name__
        raise ModelOutage(f"{self.url} gave no answer: {problem}", hint="is the server running?", retryable=True)
