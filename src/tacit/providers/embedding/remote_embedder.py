"""An embedder behind OpenAI's protocol: texts → requests → vectors of length 1, checked. Needs the extra `llm`.

What is embedded leaves this machine: secrets are looked for once more and taken out before. The key comes from the
client's own variable. Counts no money.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tacit.domain.errors import ConfigError, Mistake, ModelOutage
from tacit.text.redaction import redact

if TYPE_CHECKING:
    from openai import OpenAI

INSTALL = "pip install 'tacit[llm]', or in a checkout: pip install '.[llm]'"
_KNOWN = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_MOST_TEXTS = 64
_MOST_BYTES = 200_000
_LONGEST_TEXT = 8_000
"""Bytes: no token is shorter than one, and the models read 8,191."""
_MOST_DIMENSIONS = 1 << 14
_DIGITS = 8
_KEYS = frozenset({401, 403})
_TRIES_MORE = 2
_NOTHING = "(nothing)"
"""Sent in place of an empty text, which servers refuse."""
_USUAL = "https://api.openai.com/v1"


class RemoteEmbedder:
    """Embeds by asking a server."""

    remote = True

    def __init__(self, model: str, *, base_url: str = "", key: str = "", timeout_s: float = 30.0) -> None:
        """Make ready to ask; nobody is asked yet. Without `base_url` and `key` the client reads its own variables."""
        if not model:
            hint = 'write "openai:text-embedding-3-small"'
            raise ConfigError("no embedding model is named", code="no_model_named", hint=hint)
        try:
            import openai
        except ImportError as error:
            raise Mistake("remote embedders need the extra `llm`", code="extra_missing", hint=INSTALL) from error
        _suffix(base_url or _USUAL)  # refuses a bad address before it is used
        try:
            self._client: OpenAI = openai.OpenAI(
                api_key=key or None,
                base_url=base_url or None,
                timeout=timeout_s,
                max_retries=_TRIES_MORE,
                # Texts go to the server that was named and to no other.
                http_client=openai.DefaultHttpxClient(follow_redirects=False),
            )
            self.identity = f"openai:{model}{_suffix(str(self._client.base_url))}"
        except openai.OpenAIError as error:
            message = f"openai:{model} cannot be opened: no key is set"
            raise ConfigError(message, code="no_key", hint="set OPENAI_API_KEY") from error
        self._model = model
        self._timeout_s = timeout_s
        self._dimensions = _KNOWN.get(model, 0)

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; asks the server where that is not known before."""
        if not self._dimensions:
            self.embed([_NOTHING])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text; raises `ModelOutage` where they do not come, or are not what was asked for."""
        return [vector for batch in _batches([_sendable(text) for text in texts]) for vector in self._asked(batch)]

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _asked(self, batch: list[str]) -> Iterator[bytes]:
        import openai

        try:
            answer = self._client.embeddings.create(model=self._model, input=batch, encoding_format="float")
            given = sorted((entry.index, entry.embedding) for entry in answer.data)
        except openai.APIStatusError as error:
            status = error.status_code
            hint = "check the API key in the environment" if status in _KEYS else "see the provider's status page"
            raise self._error(f"answered with HTTP status {status}", "http_status", hint) from error
        except openai.APITimeoutError as error:
            raise self._error(f"did not answer within {self._timeout_s:g} s", "timed_out", "try again later") from error
        except openai.APIConnectionError as error:
            raise self._error(
                "cannot be reached", "unreachable", "check the network, or set recall.embedder"
            ) from error
        except (openai.OpenAIError, AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise self._error(
                "gave no answer that can be read", "unreadable_answer", "check OPENAI_BASE_URL"
            ) from error
        if [index for index, _ in given] != list(range(len(batch))):
            raise self._error(
                f"gave {len(given)} vectors for {len(batch)} texts", "wrong_vector_count", "check OPENAI_BASE_URL"
            )
        for _, values in given:
            yield self._unit(values)

    def _unit(self, values: object) -> bytes:
        good = isinstance(values, list) and 0 < len(values) <= _MOST_DIMENSIONS
        if not good or not all(type(value) in (float, int) for value in values):  # type: ignore[attr-defined]
            raise self._error("gave no vector of numbers", "no_vector", "check that the model is one for embeddings")
        numbers: list[float] = values  # type: ignore[assignment]
        self._dimensions = self._dimensions or len(numbers)
        if len(numbers) != self._dimensions:
            problem = f"gave {len(numbers)} dimensions, not {self._dimensions}"
            raise self._error(problem, "wrong_dimensions", "tacit store index --rebuild, if the model has changed")
        try:
            length = math.hypot(*numbers)
        except OverflowError:  # a whole number too large for a float
            length = math.inf
        if not math.isfinite(length) or not length:
            raise self._error(
                "gave a vector without direction", "zero_vector", "check that the model is one for embeddings"
            )
        return struct.pack(f"<{len(numbers)}f", *[value / length for value in numbers])

    def _error(self, what: str, code: str, hint: str) -> ModelOutage:
        return ModelOutage(f"openai:{self._model} {what}", code=code, hint=hint, retryable=True)


def _suffix(address: str) -> str:
    """What tells a server from the provider's own: host and port, and a digest of the rest; never a name or password."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or ""
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        message = "the embedding server's address cannot be read"
        raise ConfigError(message, code="bad_address", hint=f"OPENAI_BASE_URL={_USUAL}")
    path = parts.path.rstrip("/")
    if f"{parts.scheme}://{host}{path}" == _USUAL and port in ("", 443):
        return ""
    return f"@{host}{port and f':{port}'}#{sha256(f'{parts.scheme} {path}'.encode()).hexdigest()[:_DIGITS]}"


def _sendable(text: str) -> str:
    """A text as it may leave the machine: valid, without secrets, not too long, not empty."""
    plain = text[:_LONGEST_TEXT].encode("utf-8", "replace").decode()
    cut = redact(plain).text.encode()[:_LONGEST_TEXT].decode("utf-8", "ignore")
    return cut if cut.strip() else _NOTHING


def _batches(texts: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    held = 0
    for text in texts:
        size = len(text.encode())
        if batch and (len(batch) == _MOST_TEXTS or held + size > _MOST_BYTES):
            yield batch
            batch, held = [], 0
        batch.append(text)
        held += size
    if batch:
        yield batch
