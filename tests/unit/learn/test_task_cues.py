"""Words that speak for or against a skill, learned from tasks and what successful runs of them used."""

from __future__ import annotations

import pytest

from tacit.domain.skill import Cue
from tacit.learn.mining.task_cues import MAX_CUES, learn_cues
from tacit.text.cues import features, strength

THINGS = ("lamp", "chair", "kettle", "bicycle", "tent", "clock", "piano", "mirror")
SAMPLES = [
    *((f"Please book a room with a {thing} for Monday", ["reserve_room"]) for thing in THINGS),
    *((f"Send the guest a letter about the {thing}", ["post_letter"]) for thing in THINGS),
    *((f"Book a room with a {thing} and send a letter", ["reserve_room", "post_letter"]) for thing in THINGS[:4]),
    *((f"How old is the {thing}?", []) for thing in THINGS),
]


def called_for(cues: dict[str, tuple[Cue, ...]], text: str) -> list[str]:
    return [name for name in cues if strength(cues[name], features(text)) >= 0.4]


def weight(cues: tuple[Cue, ...], term: str) -> float:
    return next((cue.weight for cue in cues if cue.term == term), 0.0)


def test_words_of_a_task_call_for_what_such_tasks_used() -> None:
    cues = learn_cues(SAMPLES)
    assert called_for(cues, "book a room with a sofa") == ["reserve_room"]
    assert called_for(cues, "send them a letter, it is about a sofa") == ["post_letter"]
    assert called_for(cues, "book a room, and send a letter to the sofa maker") == ["post_letter", "reserve_room"]
    assert called_for(cues, "how old is the sofa?") == []


def test_what_speaks_for_one_thing_only_is_a_strong_cue_and_what_all_share_is_weak() -> None:
    cues = learn_cues(SAMPLES)["post_letter"]
    assert weight(cues, "letter") > 0.5
    assert weight(cues, "send") > 0.1 > abs(weight(cues, "lamp"))


def test_a_word_may_speak_against() -> None:
    cues = learn_cues([("move the file", ["move"])] * 6 + [("move the file but keep a copy", ["copy"])] * 6)
    assert weight(cues["move"], "keep") < 0 < weight(cues["copy"], "keep")


def test_the_own_name_speaks_before_there_is_evidence() -> None:
    cues = learn_cues([("do the usual thing", ["water_plants"]), ("and the other one", ["feed_cat"])])
    asked = features("water the plants")
    assert strength(cues["water_plants"], asked) > strength(cues["feed_cat"], asked) + 0.5


def test_a_skill_may_be_called_by_other_words_than_its_name() -> None:
    cues = learn_cues([("the usual", ["p1"]), ("the other", ["p2"])], called={"p1": "water_plants", "p2": "feed_cat"})
    assert weight(cues["p1"], "water") > 0
    assert weight(cues["p1"], "p") == 0


def test_one_task_run_often_does_not_outvote_the_rest() -> None:
    others = [(f"open the {thing} for repair", ["unlock"]) for thing in THINGS]
    once = learn_cues([*others, ("open the drawer", ["pull"])])
    often = learn_cues([*others, *[("open the drawer", ["pull"])] * 30])
    text = features("open the tent for repair")
    assert strength(often["unlock"], text) == pytest.approx(strength(once["unlock"], text), abs=0.25)


def test_the_bias_comes_first_and_cues_are_few_and_short() -> None:
    words = [f"{a}{b}{c}" for a in "bcdfgh" for b in "aou" for c in "kmnprt"]
    samples = [(" ".join(words[at : at + 9]), ["a" if at % 2 else "b"]) for at in range(90)]
    for cues in learn_cues(samples).values():
        assert cues[0].term == ""
        assert 0 < cues[0].weight < 1
        assert 10 < len(cues) <= MAX_CUES
        assert all(cue.weight == round(cue.weight, 2) and cue.weight for cue in cues[1:])


def test_no_skill_gives_no_cues_and_a_text_without_words_no_harm() -> None:
    assert learn_cues([]) == {}
    assert learn_cues([("hello there", [])]) == {}
    assert learn_cues([("", ["wait"]), ("12345", ["wait"])])["wait"][0] == Cue(term="", weight=1.0)


def test_the_same_samples_give_the_same_cues() -> None:
    assert learn_cues(SAMPLES) == learn_cues([(text, list(used)) for text, used in SAMPLES])
