from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.skill import Kind
from tacit.domain.trajectory import Environment, Origin, Role, Step, StepResult, Task, Trajectory
from tacit.learn.parameters import fill, generalise
from tacit.learn.single_attempt import distil
from tacit.learn.values import FieldOrigins, Timeline
from tacit.text.tool_calls import tool_calls

WORDS = [
    "due_date",
    "invoices",
    "#W2378156",
    "bob@example.com",
    "src/app/main.py",
    "20",
    "https://x.example/a",
    "note",
    "Ada",
    "{column}",
    "a_17",
]
words = st.sampled_from(WORDS)
prose = st.lists(
    st.one_of(
        words, words.map("`{}`".format), st.sampled_from(["add", "column", "to", "don't use", "we always use", "."])
    ),
    max_size=8,
).map(" ".join)
shell = st.builds(
    "{} {} {}".format,
    st.sampled_from(
        [
            "git add",
            "make",
            "pytest",
            "cat",
            "npm install",
            "python3 manage.py sync",
            "cd /workspace/app && touch",
            "pip install",
        ]
    ),
    words,
    st.sampled_from(["", "--force", "| tail", "&& ls", "2>&1"]),
)
scalars = st.one_of(words, st.integers(0, 400), st.booleans(), st.none(), prose)
plain_arguments = st.dictionaries(
    st.sampled_from(["order_id", "name", "id", "count", "note"]),
    st.one_of(scalars, st.lists(scalars, max_size=3)),
    max_size=3,
)
results = st.sampled_from(
    [StepResult.OK, StepResult.OK, StepResult.OK, StepResult.FAILED, StepResult.UNKNOWN, StepResult.DENIED]
)


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    tool = draw(st.sampled_from(["Bash", "Edit", "Read", "Write", "get_order", "cancel_order", "TodoWrite"]))
    path = f"/workspace/app/{draw(words)}"
    arguments: dict[str, Any] = {
        "Bash": lambda: {"command": draw(shell)},
        "Edit": lambda: {"file_path": path, "old_string": draw(prose), "new_string": draw(prose)},
        "Read": lambda: {"file_path": path},
        "Write": lambda: {"file_path": path, "content": draw(prose)},
    }.get(tool, lambda: draw(plain_arguments))()
    observation = draw(st.one_of(prose, shell, words, st.just("Error: no"), st.just('{"order_id": "#W2378156"}')))
    result = draw(results)
    code = {StepResult.OK: 0, StepResult.FAILED: 1}.get(result) if tool == "Bash" else None
    return {
        "role": Role.AGENT,
        "tool": tool,
        "arguments": arguments,
        "observation": observation,
        "result": result,
        "exit_code": code,
    }


messages = st.builds(
    lambda role, text: {"role": role, "text": text},
    st.sampled_from([Role.USER, Role.AGENT, Role.CONTEXT, Role.SYSTEM]),
    prose,
)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    steps = draw(st.lists(st.one_of(calls(), calls(), messages), max_size=14))
    task = draw(prose)
    if draw(st.booleans()):
        steps.insert(0, {"role": Role.USER, "text": task})
    numbered = tuple(Step(index=index, **step) for index, step in enumerate(steps))
    return Trajectory(task=Task(text=task), steps=numbered, environment=Environment(workspace="/workspace/app"))


assessments = st.builds(Assessment, outcome=st.sampled_from(Outcome), grade=st.sampled_from(Grade))
SUCCESS = Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE)


@given(trajectories(), assessments)
def test_no_procedure_comes_from_an_attempt_that_is_no_verified_success(
    trajectory: Trajectory, known: Assessment
) -> None:
    distilled = distil(trajectory, known)
    procedures = [candidate for candidate in distilled.candidates if candidate.content.kind is Kind.PROCEDURE]
    assert not procedures or known.verified_success
    outline = distilled.outline
    compared = bool(outline.success and outline.moves)
    assert [bool(procedures), bool(distilled.skipped), compared].count(True) == 1


@given(trajectories())
def test_every_step_is_one_that_was_taken_and_did_not_fail(trajectory: Trajectory) -> None:
    taken = {step.index: step for step in trajectory.steps}
    for candidate in distil(trajectory, SUCCESS).candidates:
        for number, step in enumerate(candidate.content.steps):
            spans = candidate.provenance.grounding[f"steps.{number}"]
            own = [taken[span.step] for span in spans if span.part == "arguments"]
            assert len(own) == 1
            assert own[0].tool == step.tool
            assert not own[0].failed


@given(trajectories(), assessments)
def test_same_input_gives_the_same_candidates(trajectory: Trajectory, known: Assessment) -> None:
    assert distil(trajectory, known) == distil(trajectory, known)


@given(trajectories())
def test_filling_the_parameters_in_gives_the_original_arguments(trajectory: Trajectory) -> None:
    actions = tool_calls(trajectory)
    general = generalise(actions, Timeline(trajectory), workspace="/workspace/app")
    for action in actions:
        assert fill(general.arguments(action.step.arguments), general.values) == action.step.arguments
    for binding in general.bindings:
        if binding.parameter.example:
            assert binding.parameter.example == str(binding.original)


@given(trajectories())
def test_no_field_is_more_trusted_than_what_it_rests_on(trajectory: Trajectory) -> None:
    field_origins = FieldOrigins(trajectory)
    for candidate in distil(trajectory, SUCCESS).candidates:
        for path, origin in candidate.origins.items():
            spans = candidate.provenance.grounding[path]
            assert spans
            assert all(origin.rank <= field_origins.origin_of(span).rank for span in spans)


@given(trajectories())
def test_every_part_of_a_candidate_has_an_origin(trajectory: Trajectory) -> None:
    for candidate in distil(trajectory, SUCCESS).candidates:
        content, origins = candidate.content, candidate.origins
        assert {"name", "description", "category"} <= origins.keys()
        assert not content.body or "body" in origins
        assert not content.signature or origins["signature"] is Origin.EXTERNAL
        for field in ("steps", "parameters", "preconditions", "postconditions", "example_queries"):
            assert all(f"{field}.{number}" in origins for number in range(len(getattr(content, field))))


@given(trajectories())
def test_names_and_descriptions_are_within_the_rules_of_agent_skills(trajectory: Trajectory) -> None:
    for candidate in distil(trajectory, SUCCESS).candidates:
        assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", candidate.content.name)
        assert len(candidate.content.name) <= 64
        assert 0 < len(candidate.content.description) <= 1024


@given(trajectories())
def test_every_placeholder_of_a_step_is_a_parameter_or_was_typed_so(trajectory: Trajectory) -> None:
    typed = " ".join(str(dict(step.arguments)) for step in trajectory.steps)
    for candidate in distil(trajectory, SUCCESS).candidates:
        names = {parameter.name for parameter in candidate.content.parameters}
        for step in candidate.content.steps:
            for name in re.findall(r"\{(\w+)\}", str(dict(step.arguments))):
                assert name in names or f"{{{name}}}" in typed
