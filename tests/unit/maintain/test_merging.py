"""Merging of similar skills: contradictions, a person's last words, different purposes."""

from __future__ import annotations

import dataclasses
import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.care import Care, CareKind
from tacit.domain.evidence import Outcome
from tacit.domain.lifecycle import Status, coded
from tacit.domain.ports import Check
from tacit.domain.skill import Kind, Parameter, SkillContent, SkillStep
from tacit.learn.parameters import fill
from tacit.maintain import promotion, revalidation
from tacit.maintain.merging import merged, near_pairs
from tacit.store.context import StoreContext
from tests.unit.maintain.test_maintenance import RELEASE, Library, library
from tests.unit.making import bash_steps, content, stored

__all__ = ["library"]
COMMIT = content(
    name="write-changelog",
    description="Write a changelog entry and commit it",
    steps=bash_steps("make changelog", "git add CHANGELOG.md", "git commit -m changelog"),
)
SIGNED = dataclasses.replace(
    COMMIT,
    name="write-changelog-entry",
    description="Write a changelog entry and commit it, signed off",
    steps=(*COMMIT.steps[:2], *bash_steps("git commit -s -m changelog")),
)


def norm(name: str, text: str) -> SkillContent:
    return SkillContent(kind=Kind.NORM, name=name, description=text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use pnpm, not npm, to install packages.", "Use npm, not pnpm, to install packages."),
        ("Use `pnpm install`, never `npm install`.", "Use `npm install`, never `pnpm install`."),
        ("Indent with tabs, not spaces.", "Indent with spaces, not tabs."),
        ("Always squash commits of a branch.", "Never squash commits of a branch."),
        ("The dev server listens on port 8080.", "The dev server listens on port 9090."),
    ],
)
def test_what_contradicts_is_never_offered_as_the_same(library: Library, one: str, other: str) -> None:
    library.approved(norm("one-rule", one)), library.approved(norm("other-rule", other))
    assert [care.kind for care in library.tend()] == [CareKind.CONTRADICTION]
    library.apply()
    assert library.loop.reviews.waiting() == []
    [care] = library.tend()
    assert care.codes[0] == "contradiction_open"
    before = library.store.history()
    assert [each.applied for each in library.apply()] == [False]
    assert library.store.history() == before


class TestLastWords:
    def test_what_a_person_wrote_last_is_kept_even_if_the_other_is_better_proven(self, library: Library) -> None:
        one, signed = library.approved(COMMIT), library.approved(SIGNED)
        library.use(one, Outcome.SUCCESS, times=2)
        [care] = library.tend(CareKind.MERGE)
        assert care.candidate is not None
        assert care.candidate.parents == (signed, one)
        assert care.candidate.content.steps[2].arguments == {"command": "git commit -s -m changelog"}
        kept = coded("step_kept", step=1, kept="git commit -s -m changelog", dropped="git commit -m changelog")
        assert kept.values.items() - {("step", 1)} <= care.reasons[-1].values.items()

    def test_it_is_kept_where_the_other_one_has_more_steps(self, library: Library) -> None:
        more = dataclasses.replace(COMMIT, steps=(*COMMIT.steps, *bash_steps("git push")))
        one, signed = library.approved(more), library.approved(SIGNED)
        whole = merged(library.store.version(signed), library.store.version(one))
        commands = [step.arguments["command"] for step in whole.content.steps]
        assert commands == ["make changelog", "git add CHANGELOG.md", "git commit -s -m changelog", "git push"]
        assert set(whole.origins.values()) == set(library.store.version(one).version.origins.values())

    def test_a_persons_draft_is_left_for_the_review(self, library: Library) -> None:
        library.approved(COMMIT)
        waiting = library.waiting(SIGNED)
        assert library.tend() == []
        assert library.status(waiting) is Status.CANDIDATE


def test_skills_that_end_in_what_the_other_never_does_are_two() -> None:
    def calls(name: str, *tools: str) -> SkillContent:
        return content(name=name, description=name, steps=tuple(SkillStep(text=tool, tool=tool) for tool in tools))

    way = ("get_customer", "get_details", "set_network", "toggle_data", "refuel", "check_status")
    one, other = (
        calls("restore-network-and-send", *way, "send_mms"),
        calls("restore-network-and-test", *way, "run_test"),
    )
    assert near_pairs([stored(one, sequence=1), stored(other, sequence=2)], 0.72) == []
    longer = calls("restore-network-and-send-it", *way, "send_mms", "say_so")
    assert len(near_pairs([stored(one, sequence=1), stored(longer, sequence=2)], 0.72)) == 1


def test_what_evidence_suspended_is_reported_with_the_way_back(library: Library) -> None:
    version_id = library.approved(RELEASE)
    library.use(version_id, Outcome.SUCCESS, times=20)
    library.use(version_id, Outcome.FAILURE, times=6)
    assert library.status(version_id) is Status.STALE
    [care] = library.tend()
    assert (care.kind, care.move) == (CareKind.STANDING, None)
    assert care.codes == ("suspended", "sudden_drop")
    assert care.advice == (coded("restore_or_retire", id=version_id[:12]),)
    library.loop.review(version_id, "restore", by="ann")
    assert library.tend() == []


def test_what_would_leave_is_not_nominated(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    version_id = library.approved(RELEASE)
    library.wait(100)

    def nominated(context: StoreContext, *, at: datetime) -> list[Care]:
        return [Care(kind=CareKind.PROMOTION, subject=version_id, name="n", reasons=())]

    monkeypatch.setattr(promotion, "cares", nominated)
    assert [care.kind for care in library.tend()] == [CareKind.STALE]
    library.use(version_id, Outcome.SUCCESS)
    assert [care.kind for care in library.tend()] == [CareKind.PROMOTION]


def test_trying_again_keeps_nothing_until_asked_and_then_one_result_a_day(library: Library, tmp_path: Path) -> None:
    version_id = library.approved(RELEASE)
    results = iter([True, True, True, False, True])

    def attempt(made: SkillContent, project: Path) -> Check:
        return Check(passed=next(results), verifier="replay: make check")

    def tried(keep: bool) -> Care:
        at = library._tick()
        found = revalidation.revalidations(library.store, tmp_path, attempt, at=at)
        [care] = library.loop.library.keep_results(found, keep=keep)
        return care

    before = library.store.history()
    assert (tried(keep=False).applied, library.store.history()) == (False, before)
    assert [tried(keep=True).applied for _ in range(4)] == [True, False, True, True]
    kept = [item.outcome.value for item in library.store.evidence([version_id])[version_id]]
    assert kept == ["success", "failure", "success"]


COMMANDS = (
    "docker push r/{}",
    "kubectl apply -f {}.yaml",
    "kubectl rollout status deploy/{}",
    "curl -f http://{}/health",
)


def deployment(service: str, *, steps: int = 4, noun: str = "service") -> SkillContent:
    """A deployment of one service, or of any where it is a placeholder."""
    parameters = (Parameter(name=service.strip("{}")),) if service.startswith("{") else ()
    return content(
        name="-".join(["deploy", *re.findall("[a-z]+", service if not parameters else ""), noun]),
        description=f"Deploy the {service} {noun}.",
        steps=bash_steps(*(command.format(service) for command in COMMANDS[:steps])),
        parameters=parameters,
    )


class TestValues:
    def test_skills_for_two_values_are_two(self, library: Library) -> None:
        library.approved(deployment("ledger")), library.approved(deployment("geo"))
        assert library.tend(CareKind.MERGE) == []

    @pytest.mark.parametrize("general_first", [True, False])
    def test_of_a_general_and_a_single_one_the_general_one_is_kept(self, library: Library, general_first: bool) -> None:
        both = [deployment("{service}"), deployment("geo")]
        made = [library.approved(each) for each in (both if general_first else both[::-1])]
        cares = library.tend(CareKind.MERGE)
        general = made[0 if general_first else 1]
        assert all(care.candidate is None or care.candidate.parents[0] == general for care in cares)
        library.apply()
        assert library.status(general) is not Status.RETIRED

    @given(
        st.sampled_from(["geo", "api-gateway", "mail"]),
        st.sampled_from(["{service}", "{name}"]),
        st.integers(3, 4),
        st.integers(3, 4),
        st.booleans(),
    )
    def test_name_description_and_steps_of_a_merged_skill_agree(
        self, value: str, other: str, ours: int, theirs: int, renamed: bool
    ) -> None:
        kept = deployment("{service}", steps=ours)
        newer = deployment(other if renamed else value, steps=theirs)
        one = merged(stored(kept), stored(newer)).content
        assert [parameter.name for parameter in one.parameters] == ["service"]
        for text in (one.name.replace("-", " "), one.description, *one.example_queries):
            assert renamed or not re.search(rf"\b{value.replace('-', '[- ]')}\b", text)
        filled = [fill(step.arguments["command"], {"service": value}) for step in one.steps]
        assert filled == [command.format(value) for command in COMMANDS[: max(ours, theirs)]]
