"""`tacit adapters` with its old names `train` and `consolidate`, as a person types them, where training is not installed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tacit.config.environment import UserEnvironment
from tacit.config.signers import forget_unlocked_key
from tacit.domain.errors import GateRefusal, Mistake, NotFound, NotPermitted, TacitError
from tacit.domain.trajectory import Trajectory
from tacit.features.train.adapter import AdapterRuling
from tacit.features.train.adapter_registry import Adapters
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.context import CommandContext
from tests.unit.features.evaluate.learners import attempts
from tests.unit.features.train.adapter_builders import judged_adapter, memory_at, registered

MODEL = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
         "num_hidden_layers": 2, "vocab_size": 900}  # fmt: skip


def typed(folder: Path, *words: str) -> Result:
    ctx = CommandContext(environment=UserEnvironment(home=folder / "home", user="ann"))
    result = CliRunner().invoke(cli, ["--store", str(folder / "tacit.db"), *words], obj=ctx)
    ctx.close()
    return result


def refused(folder: Path, *words: str) -> TacitError:
    error = typed(folder, *words).exception
    assert isinstance(error, TacitError)
    return error


def test_a_dry_run_tells_what_would_be_used_and_everything_that_speaks_against_it(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        memory.capture(attempts(12), trust_outcomes=True)
    shown = typed(tmp_path, "train", "--dry-run").output
    for part in ("12 machine-verified successes at 12 tasks", "4 tasks for the test", "refused, too_few_tasks"):
        assert part in shown
    found = json.loads(typed(tmp_path, "consolidate", "--dry-run", "--json").output)
    assert "too_few_tasks" in [each["rule"] for each in found["refused"]]
    assert found["test_tasks"] == found["proof_tasks"] == 4
    assert not (tmp_path / "adapters").exists()


@pytest.mark.parametrize("verb", ["train", "consolidate", "adapters train", "adapters train --no-test"])
def test_a_size_is_typed_as_it_is_called(tmp_path: Path, verb: str) -> None:
    with memory_at(tmp_path) as memory:
        memory.capture(attempts(12), trust_outcomes=True)
    small, large = (typed(tmp_path, *verb.split(), "--dry-run", "--size", size) for size in ("small", "large"))
    assert (small.exit_code, large.exit_code) == (0, 0)


@pytest.mark.parametrize("verb", ["train", "consolidate", "adapters train", "adapters train --no-test"])
def test_all_that_stands_in_the_way_is_reported_at_once_and_the_data_first(
    tmp_path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.features.evaluate.base_model.find_spec", lambda name: None)
    memory_at(tmp_path).close()
    error = refused(tmp_path, *verb.split())
    assert isinstance(error, GateRefusal)
    text = str(error)
    assert text.index("too_few_tasks") < text.index("no base model") < text.index("torch, transformers, peft")
    assert "--base" in error.hint
    assert "pip install '.[train]'" in error.hint
    named = str(refused(tmp_path, *verb.split(), "--base", "nosuch.gguf"))
    assert named.index("too_few_tasks") < named.index("nosuch.gguf") < named.index("peft, gguf")
    assert not (tmp_path / "adapters" / ".work").exists()


def test_a_dry_run_tells_of_a_guard_that_is_not_there(tmp_path: Path) -> None:
    memory_at(tmp_path).close()
    for option in ("--regression-suite", "--elsewhere"):
        assert refused(tmp_path, "consolidate", "--dry-run", option, "foo").code == "unknown_suite"


def test_a_dry_run_tells_of_the_data_even_where_the_model_is_not_there(tmp_path: Path) -> None:
    memory_at(tmp_path).close()
    shown = typed(tmp_path, "train", "--dry-run", "--base", "nosuch.gguf")
    assert shown.exit_code == 0
    assert shown.output.index("too_few_tasks") < shown.output.index("nosuch.gguf")
    found = json.loads(typed(tmp_path, "train", "--dry-run", "--base", "nosuch.gguf", "--json").output)
    assert "nosuch.gguf" in found["model_problem"]["message"]
    assert found["model"] is None


def test_a_dry_run_tells_how_many_examples_a_base_model_cannot_read_at_once(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        memory.capture(attempts(12), trust_outcomes=True)
    (tmp_path / "model").mkdir()
    for context, found in ((64, True), (8_192, False)):
        (tmp_path / "model" / "config.json").write_text(json.dumps({**MODEL, "max_position_embeddings": context}))
        text = typed(tmp_path, "train", "--dry-run", "--base", str(tmp_path / "model")).output
        assert ("About 8 examples left out" in text) is found
    cost = json.loads(typed(tmp_path, "train", "--dry-run", "--base", str(tmp_path / "model"), "--json").output)["cost"]
    assert (cost["examples"], cost["too_long"]) == (8, 0)


def lengthened(attempt: Trajectory, *, arguments: int = 0, answer: int = 0) -> Trajectory:
    """The same with so many letters more in its first call, and so many in the answer to it."""
    first = attempt.steps[1]
    longer = replace(
        first,
        arguments={**first.arguments, "note": f"{attempt.session_id} {'x' * arguments}"},
        observation="y" * answer or first.observation,
    )
    return replace(attempt, steps=(attempt.steps[0], longer, *attempt.steps[2:]), id="")


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps({**MODEL, "max_position_embeddings": 8_192}))
    return str(tmp_path / "model")


@pytest.mark.parametrize(
    ("letters", "context", "dropped", "hint"),
    [(6_750, 2_048, 0, "use a base model with a longer context"), (60_000, 8_192, 50, "no base model helps")],
)
def test_too_many_long_attempts_are_refused_and_reported_in_one_voice(
    tmp_path: Path, model: str, letters: int, context: int, dropped: int, hint: str
) -> None:
    Path(model, "config.json").write_text(json.dumps({**MODEL, "max_position_embeddings": context}))
    every = attempts(150)
    with memory_at(tmp_path) as memory:
        memory.capture(
            [*(lengthened(each, arguments=letters) for each in every[:50]), *every[50:]], trust_outcomes=True
        )
    found = json.loads(typed(tmp_path, "train", "--dry-run", "--base", model, "--json").output)
    assert [each["rule"] for each in found["refused"]] == ["too_long"]
    assert hint in found["refused"][0]["hint"]
    assert found["dataset"]["dropped"].get("too_long", 0) == dropped
    assert found["cost"]["too_long"] >= (dropped or 25)
    if dropped:  # said in the same way to people, and where training itself refuses
        return
    shown = typed(tmp_path, "train", "--dry-run", "--base", model).output
    assert "refused, too_long" in shown
    error = refused(tmp_path, "train", "--base", model)
    assert "too_long" in str(error)
    assert hint in error.hint


def test_a_dry_run_of_a_consolidation_tells_what_the_test_would_be(tmp_path: Path, model: str) -> None:
    with memory_at(tmp_path) as memory:
        memory.capture([lengthened(each, answer=500) for each in attempts(112)], trust_outcomes=True)
    found = json.loads(typed(tmp_path, "consolidate", "--dry-run", "--base", model, "--json").output)
    test = found["test"]
    assert test["tasks"] == found["proof_tasks"]
    assert test["tasks"] < test["least_tasks"] == 30
    assert test["exercises"] > 2 * test["tasks"]
    assert (
        test["regression"] == test["elsewhere"] == {"suite": "everyday", "exercises": 240, "arms": ["none", "adapter"]}
    )
    assert test["attempts"] == 2 * (test["exercises"] + 240)
    assert found["dataset"]["answers"] > found["dataset"]["answers_cut"] == found["dataset"]["examples"]
    shown = typed(tmp_path, "consolidate", "--dry-run", "--base", model).output
    assert f"{test['tasks']} tasks as {test['exercises']} exercises" in shown
    assert "240 exercises of suite everyday" in shown
    assert found["cost"]["seconds"] > 0
    assert json.loads(typed(tmp_path, "train", "--dry-run", "--json").output)["test"] is None


def test_a_stretch_of_time_that_is_none_is_reported(tmp_path: Path) -> None:
    memory_at(tmp_path).close()
    assert isinstance(refused(tmp_path, "consolidate", "--every", "often"), Mistake)


DRIVER = """
class TelecomEnv:
    def __init__(self, checkout):
        raise RuntimeError(f"the driver was asked to start in {checkout.name}")
"""


def test_the_suite_that_must_not_get_worse_is_opened_with_its_options(tmp_path: Path) -> None:
    memory_at(tmp_path).close()
    (tmp_path / "data").mkdir()
    (tmp_path / "driver.py").write_text(DRIVER)
    asked = ("consolidate", "--elsewhere", "telecom", "--data", str(tmp_path / "data"))
    assert "--option driver=" in refused(tmp_path, *asked).hint
    driven = (*asked, "--option", f"driver={tmp_path / 'driver.py'}", "--option", "checkout=tau2")
    assert "start in tau2" in str(refused(tmp_path, *driven))
    assert refused(tmp_path, *driven, "--option", "colour=red").code == "unknown_option"
    assert refused(tmp_path, *driven, "--option", "calls=inf").code == "bad_option_value"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--regression-suite", "everyday", "--option", "seed"), "bad_suite_option"),
        (("--regression-suite", "everyday", "--option", "=1"), "bad_suite_option"),
        (("--elsewhere", "own", "--option", "seed=1", "--option", "seed=2"), "repeated_option"),
        (("--option", "seed=1"), "no_suite"),
        (("--data", "."), "no_suite"),
    ],
)
def test_options_without_a_suite_or_a_value_are_refused(tmp_path: Path, words: tuple[str, ...], code: str) -> None:
    memory_at(tmp_path).close()
    assert refused(tmp_path, "consolidate", *words).code == code
    assert refused(tmp_path, "adapters", "train", *words).code == code


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("train", "--no-test", "--every", "7d"), "no_test"),
        (("train", "--no-test", "--activate"), "no_test"),
        (("activate",), "one_adapter"),
        (("activate", "abcd", "--previous"), "one_adapter"),
        (("activate", "abcd", "--base", "m"), "one_adapter"),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path: Path, words: tuple[str, ...], code: str) -> None:
    memory_at(tmp_path).close()
    assert refused(tmp_path, "adapters", *words).code == code


def test_an_empty_registry_says_what_comes_next(tmp_path: Path) -> None:
    memory_at(tmp_path).close()
    assert "tacit adapters train --dry-run" in typed(tmp_path, "adapters").output
    assert json.loads(typed(tmp_path, "adapters", "list", "--json").output) == {"adapters": []}
    assert isinstance(refused(tmp_path, "adapters", "show", "abcd"), NotFound)


@pytest.mark.parametrize("words", [("activate",), ("activate", "--previous"), ("rollback",), ("remove",)])
def test_what_serves_is_decided_by_a_person(tmp_path: Path, words: tuple[str, ...]) -> None:
    with memory_at(tmp_path) as memory:
        key = registered(Adapters(memory), tmp_path / "made").key
    named = (key,) if words in (("activate",), ("remove",)) else ()
    forget_unlocked_key()
    assert isinstance(refused(tmp_path, "adapters", *words, *named), NotPermitted)


def test_an_adapter_is_shown_with_its_test_and_leaves_unproven_only_by_a_person(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        adapter = registered(Adapters(memory), tmp_path / "made")
        judged_adapter(Adapters(memory), adapter, AdapterRuling.NO_BETTER, reason="chance explains it")
    assert "chance explains it" in typed(tmp_path, "adapters", "show", adapter.key[:8]).output
    assert "no better" in typed(tmp_path, "adapters").output
    forget_unlocked_key()
    assert isinstance(refused(tmp_path, "adapters", "export", adapter.key, str(tmp_path / "out")), NotPermitted)
    with memory_at(tmp_path) as memory:
        judged_adapter(Adapters(memory), adapter)
    assert typed(tmp_path, "adapters", "export", adapter.key, str(tmp_path / "out")).exit_code == 0
    assert (tmp_path / "out" / "adapter_model.safetensors").read_bytes() == b"weights"
