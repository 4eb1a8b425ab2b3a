"""Limits are hard: what a call may cost is held before it, and nothing is asked of a model that may not be paid."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.config.settings import ModelSettings
from tacit.domain.errors import ConfigError, Mistake, ModelOutage, OverBudget
from tacit.domain.ports import Prompt, Spending
from tacit.providers.budget import Budget, Limits
from tacit.providers.opening import open_model, price_of
from tacit.providers.remote import RemoteModel
from tests.raising import raises
from tests.scripted_model import ScriptedModel

AMPLE = Limits(calls=100, tokens=1_000_000, usd=100.0)
LOCAL = {"base_url": "http://127.0.0.1:9/v1", "price_in": 0.0, "price_out": 0.0}


def dollar_a_thousand(read: int, written: int) -> float:
    return (read + written) / 1000


def budget(**limits: float) -> Budget:
    given = {"calls": AMPLE.calls, "tokens": AMPLE.tokens, "usd": AMPLE.usd, **limits}
    return Budget(Limits(**given), price=dollar_a_thousand)  # type: ignore[arg-type]


def test_what_a_call_really_took_replaces_what_was_held():
    purse = budget()
    held = purse.hold(input_tokens=5000, output_tokens=1000)
    assert purse.spent == Spending(calls=1, input_tokens=5000, output_tokens=1000, usd=6.0)
    purse.settle(held, input_tokens=900, output_tokens=100)
    assert purse.spent == Spending(calls=1, input_tokens=900, output_tokens=100, usd=1.0)


def test_a_call_that_is_never_settled_keeps_its_full_estimate():
    purse = budget(tokens=10_000)
    purse.hold(input_tokens=5000, output_tokens=1000)
    with raises(OverBudget, "over_budget") as refused:
        purse.hold(input_tokens=5000, output_tokens=1000)
    assert "model.max_tokens" in refused.value.hint


@pytest.mark.parametrize(("limit", "most"), [("calls", 1), ("tokens", 6999), ("usd", 6.999)])
def test_each_limit_stops_the_call_that_might_pass_it_and_holds_nothing(limit, most):
    purse = budget(**{limit: most})
    held = purse.hold(input_tokens=3000, output_tokens=500)
    purse.settle(held, input_tokens=3000, output_tokens=500)
    before = purse.spent
    with pytest.raises(OverBudget, match=limit) as refused:
        purse.hold(input_tokens=3000, output_tokens=500)
    assert f"model.max_{limit}" in refused.value.hint
    assert purse.spent == before


def test_a_failed_call_without_cost_still_counts_as_a_call():
    purse = budget(calls=1)
    held = purse.hold(input_tokens=10, output_tokens=10)
    purse.settle(held, input_tokens=0, output_tokens=0)
    assert purse.spent == Spending(calls=1)
    with pytest.raises(OverBudget):
        purse.hold(input_tokens=1, output_tokens=1)


@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 500), st.floats(0, 1)), max_size=30))
def test_no_series_of_calls_passes_a_limit(calls):
    purse = budget(calls=9, tokens=9000, usd=7.0)
    for read, written, share in calls:
        try:
            held = purse.hold(input_tokens=read, output_tokens=written)
        except OverBudget:
            continue
        purse.settle(held, input_tokens=int(read * share), output_tokens=int(written * share))
        assert purse.spent.calls <= 9
        assert purse.spent.tokens <= 9000
        assert purse.spent.usd <= 7.0 + 1e-9


@pytest.mark.parametrize("text", ["plain words", "日本語のテキスト", "🙂" * 50, "x9" * 400])
def test_the_estimate_of_a_prompt_is_never_below_its_bytes(text):
    prompt = Prompt(instructions="Say it.", material=text, schema={"type": "object"})
    assert prompt.tokens_at_most >= len(text.encode())


def test_the_scripted_model_says_its_lines_and_keeps_its_budget():
    model = ScriptedModel([{"a": 1}, ModelOutage("gone")], limits=Limits(calls=3, tokens=10_000, usd=0.0))
    prompt = Prompt(instructions="i", material="m", schema={}, max_output_tokens=10)
    assert model.ask(prompt) == {"a": 1}
    for expected in (ModelOutage, ModelOutage, OverBudget):
        with pytest.raises(expected):
            model.ask(prompt)
    assert model.spent.calls == 3
    assert len(model.asked) == 3


def test_a_price_in_the_settings_is_per_million_tokens():
    price = price_of(ModelSettings(name="openai:x", price_in=2.0, price_out=8.0))
    assert price(1_000_000, 500_000) == pytest.approx(6.0)


def test_the_price_list_knows_the_large_providers_models():
    price = price_of(ModelSettings(name="openai:gpt-5-mini"))
    assert 0 < price(1000, 1000) < 1
    assert price(2000, 1000) > price(1000, 1000)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"name": "openai:a-model-nobody-knows"}, "unknown_price"),
        ({"name": "local", "base_url": "http://127.0.0.1:9/v1"}, "unknown_price"),
        ({"name": "openai:gpt-5-mini", "price_in": 1.0}, "one_price"),
        ({"name": "local", "base_url": "http://127.0.0.1:9/v1", "price_out": 1.0}, "one_price"),
    ],
)
def test_a_model_whose_price_is_not_known_is_refused_before_any_call(settings, code):
    with raises(ConfigError, code) as refused:
        price_of(ModelSettings(**settings))
    assert "model.price_in" in refused.value.hint


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"name": ""}, "no_model_named"),
        ({"name": "gpt-5-mini"}, "no_provider"),
        ({"name": "nobody:gpt"}, "model_not_opened"),
        ({"name": "m", **LOCAL, "base_url": "ftp://127.0.0.1/v1"}, "bad_address"),
        ({"name": "m", **LOCAL, "base_url": "http://ann:pw@127.0.0.1/v1"}, "login_in_address"),
        ({"name": "m", **LOCAL, "base_url": "http://models.example.com/v1"}, "not_encrypted"),
        ({"name": "m", **LOCAL, "base_url": "http://8.8.8.8/v1"}, "not_encrypted"),
    ],
)
def test_settings_that_name_no_model_to_ask_are_refused_with_the_reason(settings, code):
    with raises(ConfigError, code) as refused:
        open_model(ModelSettings(**settings))
    assert refused.value.hint


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1", "http://localhost:9/v1", "https://models.example.com/v1"])
def test_a_server_of_ones_own_or_an_encrypted_one_is_opened_without_a_key(address):
    with open_model(ModelSettings(name="m", price_in=0.0, price_out=0.0, base_url=address)) as model:
        assert (model.name, model.spent) == ("m", Spending())


def test_a_providers_key_is_never_sent_to_another_address(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-only")
    for key, sent in (("", "none"), ("its-own", "its-own")):
        with open_model(ModelSettings(name="m", **LOCAL), key=key) as model:  # type: ignore[arg-type]
            assert isinstance(model, RemoteModel)
            assert model._model.client.api_key == sent  # type: ignore[attr-defined]


def test_a_missing_key_is_named(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        open_model(ModelSettings(name="openai:gpt-5-mini"))


def test_a_providers_client_that_is_not_installed_is_named_with_its_install_command():
    pytest.importorskip("pydantic_ai")
    with raises(Mistake, "client_missing") as refused:
        open_model(ModelSettings(name="groq:llama-3.3-70b-versatile"))
    assert refused.value.hint == "pip install 'pydantic-ai-slim[groq]'"


def test_nothing_is_imported_before_a_model_is_opened_and_a_missing_extra_is_named():
    script = (
        "import sys; import tacit.providers.opening; from tacit.config.settings import ModelSettings\n"
        "assert not {'pydantic_ai', 'pydantic', 'openai', 'genai_prices', 'asyncio'} & set(sys.modules)\n"
        "sys.modules['pydantic_ai'] = None\n"
        "try: tacit.providers.opening.open_model(ModelSettings(name='openai:gpt-5-mini'))\n"
        "except tacit.domain.errors.Mistake as mistake: print(mistake.code, '|', mistake.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    hint = "pip install 'tacit[llm]', or in a checkout: pip install '.[llm]'"
    assert done.stdout.strip() == f"extra_missing | {hint}"
