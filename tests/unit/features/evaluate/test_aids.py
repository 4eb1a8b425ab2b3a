"""What stands before the task: skills, an episode, a placebo, the oracle; the same each time, and without a trace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tacit
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.features.evaluate.aids import Aids
from tacit.features.evaluate.leakage import PastAttempt, answer_in, known_tasks
from tacit.features.evaluate.suite import Aid, AidKind, Exercise
from tacit.features.evaluate.tool import Call, Turn
from tacit.text.words import estimate_tokens
from tests.unit.features.evaluate.heating import TASK, TOOLS
from tests.unit.features.evaluate.test_learning_to_act import learned

COLD = Exercise(key="cold", group="cold", task=TASK, tools=TOOLS, answer=(Call(tool="switch_power"),))


@pytest.fixture(scope="module")
def memory() -> Iterator[tacit.Tacit]:
    with learned([("power",), ("valve",), ("water",)] * 4) as loop:
        yield loop


def test_aids_are_the_same_each_time_and_leave_no_trace(memory: tacit.Tacit) -> None:
    before = memory.context.store.history()
    for kind in AidKind:
        assert Aids(memory).aid(kind, COLD) == Aids(memory).aid(kind, COLD)
        assert Aids(memory).aid(kind, COLD).kind is kind
    assert memory.context.store.history() == before
    assert Aids(memory).head() == before[-1].hash


def test_skills_are_those_that_are_recalled(memory: tacit.Tacit) -> None:
    aid = Aids(memory).aid(AidKind.SKILLS, COLD)
    recalled = memory.recall(TASK, k=3, budget_tokens=1500, tools=[tool.name for tool in TOOLS], keep=False)
    assert aid.sources == recalled.version_ids
    assert aid.sources
    assert all(item.text in aid.text for item in recalled.items)


def test_a_smaller_measure_gives_less(memory: tacit.Tacit) -> None:
    aids = Aids(memory)
    assert aids.sized() is aids
    one, usual = aids.sized(k=1).aid(AidKind.SKILLS, COLD).text, aids.aid(AidKind.SKILLS, COLD).text
    assert one.count("<tacit-skill ") == 1 < usual.count("<tacit-skill ")
    assert estimate_tokens(aids.sized(budget_tokens=300).aid(AidKind.TRAJECTORY, COLD).text) <= 300
    assert not aids.sized(budget_tokens=5).aid(AidKind.TRAJECTORY, COLD).text


def test_an_episode_is_a_verified_success_as_it_was(memory: tacit.Tacit) -> None:
    aid = Aids(memory).aid(AidKind.TRAJECTORY, COLD)
    (source,) = aid.sources
    assert memory.context.store.episode(source).assessment.verified_success
    trajectory = memory.context.store.trajectory(source)
    assert [call.tool for call in aid.calls] == [step.tool for step in trajectory.actions]
    assert aid.text.startswith("A similar task that was solved before:\nTask:\nThe flat is cold")
    assert aid.text.endswith("<done/>")
    assert aid.text.count("<tool_call>") == len(aid.calls) == aid.text.count("<tool_result>")


def test_a_placebo_is_other_skills_of_about_the_same_length() -> None:
    words = {
        "open-the-valve": "open the valve of the heating where the panel says that it is closed",
        "bake-bread": "knead flour with water and bake it for an hour in a stove that is hot",
        "open-the-panel": "open the panel of the heating with the small key and look for the valve",
    }
    with tacit.open(":memory:") as library:
        for name, text in words.items():
            steps = tuple(SkillStep(text=part) for part in text.split(" and "))
            content = SkillContent(kind=Kind.PROCEDURE, name=name, description=text, steps=steps)
            library.propose(content, by="ann", origin=Origin.USER)
        for stored in library.reviews.waiting():
            library.review(stored.version.id, "approve", by="ann", content_hash=stored.version.hash)
        aids = Aids(library, k=1)
        asked = Exercise(key="v", group="v", task="The valve of the heating is closed, open the valve")
        right, placebo = aids.aid(AidKind.SKILLS, asked), aids.aid(AidKind.PLACEBO, asked)
    assert "open-the-valve" in right.text
    assert "bake-bread" in placebo.text
    assert len(placebo.sources) == 1
    assert 0.7 < estimate_tokens(placebo.text) / estimate_tokens(right.text) < 1.3


def test_where_no_skill_is_recalled_there_is_no_placebo_either(memory: tacit.Tacit) -> None:
    strange = Exercise(key="x", group="x", task="translate a poem into Latin")
    assert not Aids(memory).aid(AidKind.SKILLS, strange).text
    assert not Aids(memory).aid(AidKind.PLACEBO, strange).text


def test_the_oracle_names_the_tools_and_leaves_arguments_out() -> None:
    calls = (Call(tool="find_house", arguments={"house": "H-7002"}), Call(tool="refill"))
    asked = Exercise(key="a", group="a", task=TASK, answer=calls)
    aid = Aids().aid(AidKind.ORACLE, asked)
    assert aid.text == "The right procedure for this task:\n1. find_house\n2. refill"
    assert aid.calls == calls
    ended = Exercise(key="a", group="a", task=TASK, turns=(Turn(call=calls[0]),))
    assert "nothing is left to do" in Aids().aid(AidKind.ORACLE, ended).text
    assert not Aids().aid(AidKind.ORACLE, Exercise(key="a", group="a", task=TASK)).text


def test_without_a_memory_there_is_nothing() -> None:
    assert Aids().aid(AidKind.SKILLS, COLD) == Aid(kind=AidKind.SKILLS)
    assert Aids().head() == ""
    assert Aids().past() == []


# --- what must not be known -----------------------------------------------------------------------------------------

REFUND = Call(tool="refund", arguments={"order": "#W624", "reason": "no longer needed"})
TRANSCRIPT = "Please send back the blue kettle of order #W624 since my sister bought me one last week"
ORDER = Exercise(key="t7/0", group="t7", task=TRANSCRIPT, answer=(REFUND,))


@pytest.mark.parametrize("name", ["t7", "t7/0"])
def test_a_task_is_known_by_its_key(name: str) -> None:
    for past in (PastAttempt(id=name), PastAttempt(id="x", session_id=name)):
        (known,) = known_tasks([ORDER], [past])
        assert (known.group, known.trajectory_id) == ("t7", past.id)


def test_a_task_is_known_by_its_words_and_what_solved_it() -> None:
    (known,) = known_tasks([ORDER], [PastAttempt(id="x", task=TRANSCRIPT + "!", turns=(Turn(call=REFUND),))])
    assert known.group == "t7"


@pytest.mark.parametrize("copies", [2, 3, 40])
def test_a_task_is_known_however_often_it_was_attempted(copies: int) -> None:
    tried = [Turn(call=Call(tool="get_order", arguments={"order": "#W624"})), Turn(call=REFUND)]
    past = [PastAttempt(id=f"x{n}", task=TRANSCRIPT, turns=tuple(tried[n % 2 :])) for n in range(copies)]
    assert [known.group for known in known_tasks([ORDER], past)] == ["t7"]


def test_tasks_of_other_words_are_not_known() -> None:
    other = "Where is the parcel with my two lamps that should have been here on Monday at noon"
    assert known_tasks([ORDER], [PastAttempt(id="x", task=other, turns=(Turn(call=Call(tool="track")),))]) == []


def test_words_that_all_tasks_share_tell_nothing() -> None:
    causes = [Call(tool=f"mend_{number}") for number in range(40)]
    asked = [Exercise(key=f"a{n}", group=f"a{n}", task=TRANSCRIPT, answer=(causes[n],)) for n in range(20)]
    past = [PastAttempt(id=f"p{n}", task=TRANSCRIPT, turns=(Turn(call=causes[n]),)) for n in range(20, 40)]
    assert known_tasks(asked, past) == []


@pytest.mark.parametrize(
    ("aid", "given_away"),
    [
        (Aid(kind=AidKind.TRAJECTORY, text='refund {"order": "#W624"}'), True),
        (Aid(kind=AidKind.TRAJECTORY, calls=(REFUND,)), True),
        (Aid(kind=AidKind.SKILLS, text="refund the order"), False),
        (Aid(kind=AidKind.SKILLS, text="order #W624 was sent"), False),
        (Aid(kind=AidKind.ORACLE, text="refund #W624", calls=(REFUND,)), False),
    ],
)
def test_an_aid_gives_an_answer_away_by_its_particulars(aid: Aid, given_away: bool) -> None:
    assert answer_in(aid, ORDER) == (REFUND if given_away else None)


def test_a_call_without_particulars_is_what_skills_are_for() -> None:
    assert answer_in(Aid(kind=AidKind.SKILLS, text="switch_power", calls=COLD.answer), COLD) is None


def test_a_memory_that_learned_the_same_again_holds_the_same(memory: tacit.Tacit) -> None:
    with learned([("power",), ("valve",), ("water",)] * 4) as again, learned([("power",), ("valve",)] * 4) as other:
        assert Aids(memory).contents() == Aids(again).contents() != Aids(other).contents()
    assert Aids().contents() == ""
