"""Cases, pitfalls, places and parts in a SKILL.md: written as sentences, and read back as structure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.domain.skill import Case, Condition, Cue, Kind, Parameter, Pitfall, SkillContent, SkillStep
from tacit.render import parse, render
from tacit.render.conditions import read_case, read_place, sentence, tell_condition
from tacit.render.skill_md import MARKER


def shows(reading: str, key: str, value: str, relation: str = "is") -> Condition:
    """A condition as mining writes it: its words are its sentence."""
    made = Condition(text="", reading=reading, key=key, relation=relation, value=value)
    return replace(made, text=sentence(made))


STOPPED, SLOW = shows("read_sensor", "Feed", "stopped"), shows("read_sensor", "Feed", "slow")
BACKLOG = shows("read_sensor", "Backlog", "200", "over")
RESTART = SkillContent(
    kind=Kind.PROCEDURE,
    name="restart-the-feed",
    description="Restart the feed of a sensor.",
    cases=(Case(conditions=(STOPPED,), support=4), Case(conditions=(SLOW, BACKLOG), support=3, against=1)),
    cues=(Cue(term="", weight=-1.25), Cue(term="feed", weight=2.5)),
    after=("charge-the-battery",),
    parameters=(
        Parameter(name="sensor", description="Which one", example="S-104", reading="task", key="A-000"),
        Parameter(name="feed", type="integer", reading="read_sensor", key="feeds[].id"),
    ),
    steps=(SkillStep(text="Restart it", tool="restart_feed", arguments={"feed": "{feed}"}),),
    postconditions=(shows("read_sensor", "Feed", "running"),),
    pitfalls=(
        Pitfall(text="Restarted with an empty battery", kind="wrong order", step=0, count=3),
        Pitfall(text="Did not look again"),
    ),
)
WRITTEN = f"""
{MARKER}

## When
- If `read_sensor` shows `Feed: stopped` (4 of 4 times)
- If `read_sensor` shows `Feed: slow`, and `read_sensor` shows `Backlog` over `200` (3 of 4 times)

## Comes after
- charge-the-battery

## Parameters
- `sensor`: Which one
  - from: the task, as `A-000`
  - example: S-104
- `feed`
  - type: integer
  - from: `read_sensor` at `feeds[].id`

## Steps
1. Restart it
   - tool: restart_feed {{"feed":"{{feed}}"}}

## Check
- `read_sensor` shows `Feed: running`

## Pitfalls
- Restarted with an empty battery (at step 1, seen 3 times)
  - kind: wrong order
- Did not look again
"""


def edited(old: str, new: str, content: SkillContent = RESTART) -> SkillContent:
    text = render(content)
    assert text.count(old) == 1
    return parse(text.replace(old, new), strict=True).content


def test_a_conditional_skill_reads_like_a_guide() -> None:
    front, body = render(RESTART).split("---\n", 2)[1:]
    assert body == WRITTEN
    assert front == (
        "name: restart-the-feed\ndescription: Restart the feed of a sensor.\n"
        'metadata:\n  tacit-cues: \'[["",-1.25],["feed",2.5]]\'\n'
    )


def test_it_is_read_back_whole() -> None:
    again = parse(render(RESTART), strict=True).content
    assert again == RESTART
    assert again.hash() == RESTART.hash()


def test_a_composite_lists_its_parts_in_order_and_reads_them_back() -> None:
    content = SkillContent(kind=Kind.PROCEDURE, name="a", description="b", sub_skills=("charge", "restart"))
    assert render(content).endswith(f"{MARKER}\n\n## Made of\n1. charge\n2. restart\n")
    swapped = edited("1. charge\n2. restart", "1. restart\n2. charge\n3. `look`", content)
    assert swapped == replace(content, sub_skills=("restart", "charge", "look"))


@pytest.mark.parametrize("text", ["A body.", f"A body.\n\n{MARKER}\n\n## Steps\n1. one"])
def test_parts_that_an_older_export_kept_in_its_metadata_are_still_read(text: str) -> None:
    old = f'---\nname: a\ndescription: b\nmetadata:\n  tacit-sub-skills: \'["x","y"]\'\n---\n\n{text}\n'
    content = parse(old, strict=True).content
    assert content.sub_skills == ("x", "y")
    assert content.body == "A body."
    assert not content.metadata


class TestEditing:
    def test_an_edited_value_changes_that_condition_only(self) -> None:
        content = edited("`Feed: stopped`", "`Feed: stalled`")
        stalled = Case(conditions=(shows("read_sensor", "Feed", "stalled"),), support=4)
        assert content == replace(RESTART, cases=(stalled, RESTART.cases[1]))

    def test_a_case_in_a_persons_words_is_prose(self) -> None:
        content = edited("## Comes after", "- When the lamp blinks\n\n## Comes after")
        assert content.cases[2:] == (Case(conditions=(Condition(text="the lamp blinks"),)),)

    def test_a_case_without_its_count_is_still_that_case(self) -> None:
        assert edited(" (4 of 4 times)", "").cases[0] == Case(conditions=(STOPPED,))

    def test_a_deleted_section_is_gone_and_the_cues_stay(self) -> None:
        text = render(RESTART)
        cut = text[: text.index("## When")] + text[text.index("## Comes after") :]
        assert parse(cut, strict=True).content == replace(RESTART, cases=())

    def test_a_pitfall_that_a_person_adds_is_kept(self) -> None:
        content = edited("- Did not look again", "- Did not look again\n- Asks twice (it annoys people)")
        assert content.pitfalls[2:] == (Pitfall(text="Asks twice (it annoys people)"),)

    def test_an_edited_place_changes_where_the_value_comes_from(self) -> None:
        content = edited("`read_sensor` at `feeds[].id`", "`list_feeds` at `id`")
        assert (content.parameters[1].reading, content.parameters[1].key) == ("list_feeds", "id")

    def test_a_damaged_list_of_cues_is_a_warning_and_is_not_lost(self) -> None:
        text = render(RESTART).replace('["feed",2.5]', '["feed","much"]')
        parsed = parse(text, strict=True)
        assert parsed.content.cues == ()
        assert "tacit-cues" in parsed.content.metadata
        assert [warning.rule for warning in parsed.warnings] == ["own-metadata"]


@pytest.mark.parametrize("relation", ["is", "is not", "has", "lacks", "over", "under"])
@pytest.mark.parametrize("reading", ["read_sensor", "task"])
@pytest.mark.parametrize("key", ["Feed", ""])
def test_every_relation_has_a_sentence_of_its_own(relation: str, reading: str, key: str) -> None:
    made = shows(reading, key, "12", relation)
    case = Case(conditions=(made,), support=2, against=1)
    content = replace(RESTART, cases=(case,), preconditions=(made,))
    text = render(content)
    assert parse(text, strict=True).content == content
    assert "tacit-cases" not in text
    assert "tacit-preconditions" not in text


def test_words_beside_what_shows_it_are_both_there() -> None:
    told = replace(STOPPED, text="The feed stands still", check="sensor status")
    content = replace(RESTART, cases=(Case(conditions=(told, BACKLOG)),), preconditions=(told,))
    text = render(content)
    assert "- If The feed stands still [`read_sensor` shows `Feed: stopped`] [check: sensor status], and `read" in text
    assert parse(text, strict=True).content == content
    assert "tacit-cases" not in text


def test_what_a_tool_says_in_plain_words_is_told_so() -> None:
    said = [shows("look", "says", "all is well", relation) for relation in ("has", "lacks")]
    assert [each.text for each in said] == ["`look` says `all is well`", "`look` does not say `all is well`"]
    longer = replace(said[0], text="`look` mentions `all is well` in `says`")
    content = replace(RESTART, preconditions=(*said, longer))
    text = render(content)
    assert parse(text, strict=True).content == content
    assert "tacit-preconditions" not in text
    assert longer.text + "\n" in text, "words that mean the same need no second telling"
    assert tell_condition(longer) == said[0].text


def test_what_is_asked_of_some_tasks_only_says_so() -> None:
    running = replace(RESTART.postconditions[0], when="feed")
    content = replace(RESTART, postconditions=(running, Condition(text="It is quiet", when="noise", check="listen")))
    text = render(content)
    assert (
        "- `read_sensor` shows `Feed: running` (for tasks with `feed`)\n- It is quiet (for tasks with `noise`)\n"
        in text
    )
    assert parse(text, strict=True).content == content
    assert "tacit-postconditions" not in text


def test_a_person_may_join_conditions_with_a_bare_and() -> None:
    found = read_case("if `a` shows `K: fish and chips` and the task mentions `lunch` (1 of 1 time)")
    assert found == Case(conditions=(shows("a", "K", "fish and chips"), shows("task", "", "lunch", "has")), support=1)
    assert read_case("bread and butter are there").conditions == (Condition(text="bread and butter are there"),)
    assert read_case("Always") == Case(conditions=())


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("the task", ("task", "")),
        ("The task, as `A-000`", ("task", "A-000")),
        ("`get_order` at `lines[].id`", ("get_order", "lines[].id")),
        ("`get_order`", ("get_order", "")),
        ("the person's letter", ("the person's letter", "")),
    ],
)
def test_places_are_read_as_people_write_them(text: str, place: tuple[str, str]) -> None:
    assert read_place(text) == place
