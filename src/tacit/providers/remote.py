"""A model of pydantic-ai behind the port: prompt → one request → the object that came back, with its cost settled.

One call is one request: the retries of the libraries below are switched off, and the one retry made here is checked
against the budget like a first try. Decides nothing about what the answer says. Needs the extra `llm`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UserError,
)
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from tacit.domain.errors import ModelOutage
from tacit.domain.ports import Prompt, Spending
from tacit.providers.budget import Budget

_ANSWER = "answer"
_TRIES = 2
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that another try may change."""
_KEYS = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a model is to be asked."""

    timeout_s: float = 60.0
    native: bool = False
    """Whether the server itself holds the answer to the schema; else the model's usual way is taken."""
    pause_s: float = 1.0
    """How long to wait before the one retry."""
    temperature: float | None = None


class RemoteModel:
    """A model that is asked over the network, or in this process. Use it as a context: it holds connections."""

    def __init__(
        self, model: Model, *, name: str, budget: Budget, manner: Manner | None = None, vendor: str = ""
    ) -> None:
        """Wrap a model; every request is checked against the budget first."""
        self._model = model
        self.name = name
        self.vendor = vendor
        self._budget = budget
        self._manner = manner or Manner()
        self._runner = asyncio.Runner()

    @property
    def spent(self) -> Spending:
        """All that was spent so far."""
        return self._budget.spent

    def __enter__(self) -> RemoteModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        close: Callable[[], Any] | None = getattr(getattr(self._model, "client", None), "close", None)
        if close is not None and inspect.isawaitable(closing := close()):
            self._runner.run(_awaited(closing))
        self._runner.close()

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        """Ask, and once more if the first failure may pass."""
        for left in reversed(range(_TRIES)):
            try:
                return self._try(prompt)
            except ModelOutage as outage:
                if not outage.retryable or not left:
                    raise
            time.sleep(self._manner.pause_s)
        raise AssertionError("unreachable")

    def _try(self, prompt: Prompt) -> Mapping[str, Any]:
        held = self._budget.hold(input_tokens=prompt.tokens_at_most, output_tokens=prompt.max_output_tokens)
        try:
            response = self._runner.run(self._request(prompt))
        except ModelHTTPError as error:
            self._budget.settle(held, input_tokens=0, output_tokens=0)  # the server would not have it
            status = error.status_code
            hint = "check the API key in the environment" if status in _KEYS else "see the provider's status page"
            raise ModelOutage(
                f"{self.name} answered with HTTP status {status}", hint=hint, retryable=status in _PASSING
            ) from error
        except (ModelRequestTimeout, ModelTimeoutError) as error:
            message = f"{self.name} did not answer within {self._manner.timeout_s:g} s"
            raise ModelOutage(message, hint="raise model.timeout_s") from error
        except ModelConnectionError as error:
            hint = "check the network, and model.base_url if it is set"
            raise ModelOutage(f"{self.name} cannot be reached", hint=hint, retryable=True) from error
        except (AgentRunError, UserError, ValueError, RecursionError) as error:
            reported = type(error).__name__
            raise ModelOutage(f"{self.name} gave no answer that can be read ({reported})", hint=_HINT) from error
        usage = response.usage
        self._budget.settle(  # where the server does not say what it took, the estimate stands
            held,
            input_tokens=usage.input_tokens or held.input_tokens,
            output_tokens=usage.output_tokens or held.output_tokens,
        )
        return _object(response, self.name)

    async def _request(self, prompt: Prompt) -> ModelResponse:
        manner, schema = self._manner, dict(prompt.schema)
        settings = ModelSettings(
            max_tokens=prompt.max_output_tokens,
            max_retries=0,
            timeout=manner.timeout_s,
            request_timeout=manner.timeout_s,  # for the whole of it, however slowly it drips
        )
        if manner.temperature is not None:
            settings["temperature"] = manner.temperature
        return await model_request(
            self._model,
            [ModelRequest(parts=[UserPromptPart(prompt.material)], instructions=prompt.instructions)],
            model_settings=settings,
            model_request_parameters=ModelRequestParameters(
                output_mode="native" if manner.native else "auto",
                output_object=OutputObjectDefinition(json_schema=schema, name=_ANSWER),
                output_tools=[ToolDefinition(name=_ANSWER, parameters_json_schema=schema, kind="output")],
                allow_text_output=manner.native,
            ),
            instrument=False,  # what agents did is nobody else's business
        )


_HINT = "what was mined stands without it; try a model that follows a JSON schema"


def _object(response: ModelResponse, name: str) -> Mapping[str, Any]:
    """The answer's object: the arguments of the answering call, or the text as JSON."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart) and part.tool_name == _ANSWER]
    given: Any = calls[0].args if calls else "".join(p.content for p in response.parts if isinstance(p, TextPart))
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            cut = " (it was cut off)" if response.finish_reason == "length" else ""
            raise ModelOutage(f"the answer of {name} is not JSON{cut}", hint=_HINT) from error
    if not isinstance(given, dict):
        raise ModelOutage(f"the answer of {name} is not an object", hint=_HINT)
    return given


async def _awaited(closing: Awaitable[Any]) -> None:
    await closing
