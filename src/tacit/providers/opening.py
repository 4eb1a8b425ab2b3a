"""The `model` section of the settings → a model ready to be asked, with its budget and its price.

Keys come from the environment: the provider's own variables, which its client reads by itself, or the key handed in for a
server named by address. A key meant for one provider is never sent to another address. An installed client needs no key: it
has the person's login. Asks nothing of anybody yet. A `RecordedModel` answers out of files.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tacit.config.environment import ClientEnvironment, client_environment
from tacit.config.settings import ModelSettings
from tacit.domain.errors import ConfigError, Mistake, ModelOutage
from tacit.domain.ports import Prompt, Spending
from tacit.providers.budget import Budget, Limits, Price, UsageLedger
from tacit.providers.client_model import CLIENTS, ClientModel
from tacit.text.words import estimate_tokens

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from tacit.providers.remote import RemoteModel

INSTALL = "pip install 'tacit[llm]', or in a checkout: pip install '.[llm]'"
_KNOWN = f"use {' or '.join(CLIENTS)} (the installed client), provider:model such as openai:gpt-5-mini, or set model.base_url"
_NO_KEY = "none"
"""Local servers ask for no key, and the client for something to send."""


def open_model(
    settings: ModelSettings, *, key: str = "", home: Path | None = None, environment: ClientEnvironment | None = None
) -> RemoteModel | ClientModel | RecordedModel:
    """Build the model that the settings name; `key` is for the server at `base_url`.

    `home` is the folder of the person's ledger, which keeps the limit of the day; without it only the run's limits hold. A
    client sees `environment`, or that of this process without what the project around it sets.
    """
    if not settings.name:
        hint = 'set model.name, for example "claude-code" or "openai:gpt-5-mini"'
        raise ConfigError("no language model is named", code="no_model_named", hint=hint)
    limits = Limits(calls=settings.max_calls, tokens=settings.max_tokens, usd=settings.max_usd)
    ledger = UsageLedger(home, limit=settings.max_tokens_per_day) if home else None
    provider, _, own_model = settings.name.partition(":")
    if provider == "recorded":
        return RecordedModel(Path(own_model).expanduser())
    if client := CLIENTS.get(provider):
        return ClientModel(
            client,
            model=own_model,
            budget=Budget(limits, price=known_price(settings) or (lambda tokens_in, tokens_out: 0.0), ledger=ledger),
            environment=environment or client_environment(),
            timeout_s=settings.timeout_s,
        )
    try:
        from tacit.providers.remote import Manner, RemoteModel
    except ImportError as error:
        raise Mistake("language models need the extra `llm`", code="extra_missing", hint=INSTALL) from error
    model = _served(settings, key) if settings.base_url else _named(settings.name)
    budget = Budget(limits, price=price_of(settings), ledger=ledger)
    local = bool(settings.base_url)
    manner = Manner(timeout_s=settings.timeout_s, native=local, temperature=0.0 if local else None)
    return RemoteModel(model, name=settings.name, budget=budget, manner=manner, vendor=vendor_of(settings))


def vendor_of(settings: ModelSettings) -> str:
    """Who gets what is asked of this model; empty for a server of one's own."""
    provider = settings.name.partition(":")[0]
    if provider in CLIENTS:
        return CLIENTS[provider].vendor
    return "" if settings.base_url else provider


def known_price(settings: ModelSettings) -> Price | None:
    """What a model costs, where that is known. A client bills its own login, so its price is an estimate."""
    try:
        return price_of(settings)
    except (ConfigError, ImportError):
        return None


def price_of(settings: ModelSettings) -> Price:
    """What a model costs: as the settings say, or as the price list knows it; unknown is an error, for money is limited."""
    read, written = settings.price_in, settings.price_out
    if read is not None and written is not None:
        return lambda tokens_in, tokens_out: (tokens_in * read + tokens_out * written) / 1_000_000
    hint = "set model.price_in and model.price_out (US dollars per million tokens; 0 for a server of your own)"
    if (read is None) != (written is None):
        raise ConfigError("model.price_in and model.price_out belong together", code="one_price", hint=hint)
    unknown = f"the price of {settings.name} is not known, so model.max_usd cannot be kept"
    if settings.base_url:
        raise ConfigError(unknown, code="unknown_price", hint=hint)
    from genai_prices import Usage, calc_price

    provider, _, name = settings.name.partition(":")
    if provider in CLIENTS:
        provider, name = CLIENTS[provider].vendor, name or CLIENTS[provider].priced_as

    def listed(tokens_in: int, tokens_out: int) -> float:
        usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
        return float(calc_price(usage, name, provider_id=provider).total_price)

    try:
        listed(1, 1)
    except LookupError as error:
        raise ConfigError(unknown, code="unknown_price", hint=hint) from error
    return listed


def _served(settings: ModelSettings, key: str) -> Model:
    """A model behind an address that speaks OpenAI's protocol: llama.cpp, Ollama, vLLM, a gateway."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    address = urlsplit(settings.base_url)
    if address.scheme not in ("http", "https") or not address.hostname:
        message = f"model.base_url {settings.base_url!r} is no web address"
        raise ConfigError(message, code="bad_address", hint="http://127.0.0.1:8080/v1")
    if address.username or address.password:
        hint = "put the key into TACIT_MODEL_KEY"
        raise ConfigError("model.base_url holds a login", code="login_in_address", hint=hint)
    if address.scheme == "http" and not _near(address.hostname):
        message = f"model.base_url would send what agents did to {address.hostname} in the clear"
        raise ConfigError(message, code="not_encrypted", hint="use https://")
    provider = OpenAIProvider(base_url=settings.base_url, api_key=key or _NO_KEY)
    return OpenAIChatModel(settings.name.removeprefix("openai:"), provider=provider)


def _near(host: str) -> bool:
    """Whether a host is this machine or an address of a private network."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def _named(name: str) -> Model:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    provider, mark, _ = name.partition(":")
    if not mark:
        raise ConfigError(f"there is no language model {name!r}", code="no_provider", hint=_KNOWN)
    try:
        return infer_model(name)
    except ImportError as error:
        hint = f"pip install 'pydantic-ai-slim[{provider}]'"
        message = f"models of {provider} need a client that is not installed"
        raise Mistake(message, code="client_missing", hint=hint) from error
    except (UserError, ValueError) as error:
        problem = str(error).splitlines()[0] if str(error) else "it is not known"
        hint = f"check the name and the provider's key; {_KNOWN}"
        raise ConfigError(f"{name} cannot be opened: {problem}", code="model_not_opened", hint=hint) from error


NOT_RECORDED = "not_recorded"


class RecordedModel:
    """Answers from `KEY.answer.json` in a folder; without one the prompt is written to `KEY.prompt.md` there.

    The key is the hash of the prompt, or of the prompt without the items that are known: an answer stays that of its session.
    """

    vendor = ""

    def __init__(self, folder: Path) -> None:
        """Use the files of this folder, which is made where it is missing."""
        if folder.exists() and not folder.is_dir():
            raise Mistake(f"{folder} is not a folder", code="not_a_folder", hint="recorded:FOLDER")
        self.name = f"recorded:{folder.name}"
        self._folder = folder
        self._spent = Spending()

    @property
    def spent(self) -> Spending:
        """Tokens that the answers would have taken."""
        return self._spent

    def __enter__(self) -> RecordedModel:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the recorded answer."""
        schema = json.dumps(prompt.schema, indent=1)
        text = f"{prompt.instructions}\n\n## The material\n\n{prompt.material}\n\n## JSON schema of the answer\n\n{schema}\n"
        key = _key(text)
        if not (self._folder / f"{key}.answer.json").exists():
            key = _key(_RECORDED.sub("", text))  # an answer stays that of its session, whatever was learned since
        answer = self._folder / f"{key}.answer.json"
        if not answer.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            prompt_path = self._folder / f"{key}.prompt.md"
            prompt_path.touch(mode=0o600)  # it holds what was said and done in a session
            prompt_path.write_text(text, encoding="utf-8")
            raise ModelOutage(
                f"no answer is recorded for {key}",
                code=NOT_RECORDED,
                hint=f"read {key}.prompt.md and write {key}.answer.json beside it",
            )
        try:
            found = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ModelOutage(
                f"{answer.name} is not JSON", code="bad_recording", hint="correct or delete it"
            ) from error
        if not isinstance(found, dict):
            raise ModelOutage(f"{answer.name} is not an object", code="bad_recording", hint="correct or delete it")
        spent = Spending(
            calls=1,
            input_tokens=estimate_tokens(text),
            output_tokens=estimate_tokens(json.dumps(found, ensure_ascii=False)),
        )
        self._spent = self._spent + spent
        return found


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


_RECORDED = re.compile(r"(?<=^<record>\n)(?:known: [^\n]*\n)+\n|^known: [^\n]*\n", re.MULTILINE)
"""The lines of a prompt that say what is learned already."""
