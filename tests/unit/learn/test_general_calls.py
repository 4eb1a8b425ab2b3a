"""General calls: where the arguments of a call come from, by the evidence of several attempts."""

from __future__ import annotations

import json
import random
from typing import Any

from tacit.domain.trajectory import Span, StepResult, Trajectory
from tacit.learn.mining.general_calls import GeneralCall, Occurrence, generalise_call
from tacit.text.value_lookup import resolve
from tests.unit.learn.attempts import attempt, call, say


def last(trajectory: Trajectory, task: str = "") -> Occurrence:
    return Occurrence(trajectory, trajectory.actions[-1], task)


def the(general: GeneralCall, name: str) -> tuple[str, str]:
    (found,) = (one for one in general.parameters if one.name == name)
    return found.reading, found.key


def account(number: int, *, lines: int = 3) -> Trajectory:
    """Somebody with several lines wants one of them changed; the line is known by its phone number."""
    phones = [f"555-01{number}-20{line:02}" for line in range(lines)]
    wanted = number % lines
    identities = [f"L{number}{line:03}" for line in range(lines)]
    reads = [
        call("show_line", {"id": identity}, json.dumps({"line_id": identity, "phone_number": phone, "state": "active"}))
        for identity, phone in zip(identities, phones, strict=True)
    ]
    return attempt(
        f"Case {number}: my number is {phones[wanted]} and I need roaming.",
        call(
            "find_person", {"phone": phones[wanted]}, json.dumps({"person_id": f"P{number}77", "line_ids": identities})
        ),
        *reads,
        call("open_roaming", {"person_id": f"P{number}77", "line_id": identities[wanted], "zone": "world"}, "done"),
    )


def shop(number: int, reason: str = "no longer needed", *, stated: bool = True) -> Trajectory:
    """An order with two things, one of which goes back."""
    order = {
        "order_id": f"#Q{number}5501",
        "status": "delivered",
        "items": [
            {"name": "Desk Lamp", "item_id": f"{number}1001"},
            {"name": "Tea Kettle", "item_id": f"{number}1002"},
        ],
    }
    older = {
        "order_id": f"#Q{number}5502",
        "status": "pending",
        "items": [{"name": "Desk Lamp", "item_id": f"{number}1003"}],
    }
    thing = number % 2
    item = order["items"][thing]
    return attempt(
        f"Hello, I am customer {number} and one thing has to go back.",
        say(f"The {('lamp', 'kettle')[thing]}, it is {reason}." if stated else f"The {('lamp', 'kettle')[thing]}."),
        call("show_order", {"order_id": order["order_id"]}, json.dumps(order)),
        call("show_order", {"order_id": older["order_id"]}, json.dumps(older)),
        call("send_back", {"order_id": order["order_id"], "item_ids": [item["item_id"]], "reason": reason}, "done"),  # type: ignore[index]
    )


ACCOUNTS = [last(account(number)) for number in range(4, 10)]
SHOPS = [last(shop(number, "no longer needed" if number % 3 else "broken")) for number in range(21, 33)]


def test_an_id_is_bound_to_the_answer_that_holds_it() -> None:
    assert the(generalise_call(ACCOUNTS), "person_id") == ("find_person", "person_id")


def test_a_record_is_chosen_by_what_the_task_names() -> None:
    assert the(generalise_call(ACCOUNTS), "line_id") == ("show_line", "line_id where phone_number in task")


def test_what_never_varies_stays_as_it_is() -> None:
    assert generalise_call(ACCOUNTS).arguments == {"person_id": "{person_id}", "line_id": "{line_id}", "zone": "world"}


def test_a_value_that_the_person_names_comes_from_the_task() -> None:
    calls = [Occurrence(one.trajectory, one.trajectory.actions[0]) for one in ACCOUNTS]
    general = generalise_call(calls)
    assert the(general, "phone") == ("task", "<phone>")
    assert {span.trajectory_id for span in general.spans["phone"]} == {one.trajectory.id for one in calls}


def test_a_list_is_bound_as_a_whole() -> None:
    general = generalise_call(SHOPS)
    assert the(general, "order_id") == ("show_order", 'order_id where status = "delivered"')
    tool, key = the(general, "item_ids")
    assert tool == "show_order"
    assert key.startswith("items[].item_id where ")
    assert "name in task" in key
    assert next(one.type for one in general.parameters if one.name == "item_ids") == "array"


def test_a_bound_call_resolves_in_an_attempt_that_was_not_seen() -> None:
    general, unseen = generalise_call(SHOPS), shop(77)
    stated = "\n".join(step.text for step in unseen.steps if step.text)
    answers = {"show_order": [step.observation for step in unseen.actions[:-1]]}
    known: dict[str, Any] = {}
    for parameter in general.parameters:
        known[parameter.name] = resolve(parameter, stated, answers=answers, known=known)
    assert known == dict(unseen.actions[-1].arguments)


def test_a_choice_in_the_task_is_one_of_the_values_seen() -> None:
    general = generalise_call(SHOPS)
    assert the(general, "reason") == ("task", '"no longer needed" | "broken"')


def test_a_choice_that_is_not_stated_has_no_source_but_lists_what_was_seen() -> None:
    silent = [last(shop(number, ("broken", "worn out")[number % 2], stated=False)) for number in range(40, 52)]
    general = generalise_call(silent)
    (reason,) = (one for one in general.parameters if one.name == "reason")
    assert (reason.reading, reason.key) == ("", "")
    assert "broken, worn out" in reason.description
    assert {span.part for span in general.spans["reason"]} == {"arguments"}


def test_personal_values_are_not_written_down() -> None:
    for general, own in ((generalise_call(ACCOUNTS), ACCOUNTS), (generalise_call(SHOPS), SHOPS)):
        written = repr([general.arguments, general.parameters])
        for one in own:
            ids = [value for name, value in one.step.arguments.items() if name.endswith("_id")]
            assert not any(value in written for value in ids)


def test_many_attempts_at_one_task_do_not_make_its_values_general() -> None:
    def asked(number: int) -> Trajectory:
        return attempt(f"Attempt {number}: greet her", call("greet", {"name": "Ann Lee", "card": "C-99812"}, "done"))

    general = generalise_call([last(asked(number)) for number in range(6)])
    assert "Ann" not in repr(general)
    assert "99812" not in repr(general)
    assert [one.reading for one in general.parameters] == ["", ""]


def test_a_name_shared_by_independent_tasks_may_stay() -> None:
    def asked(number: int) -> Trajectory:
        return attempt(f"Post the report of week {number}", call("post", {"channel": "Ops"}, "done"))

    assert generalise_call([last(asked(number), f"week-{number}") for number in range(3)]).arguments == {
        "channel": "Ops"
    }


def test_one_task_tried_often_does_not_outvote_the_others() -> None:
    """Nine attempts at one task copy the code from a note; three other tasks have it from the person."""

    def asked(number: int, code: str, *, stated: bool) -> Trajectory:
        note = call("read_note", {}, json.dumps({"code": code if not stated else "none"}))
        task = f"Use {code}" if stated else "Use the code"
        return attempt(f"{task} (try {number})", note, call("apply", {"code": code}, "done"))

    often = [last(asked(number, "ZX-4411", stated=False), "one") for number in range(9)]
    others = [last(asked(number, f"ZX-55{number}1", stated=True), f"task-{number}") for number in range(3)]
    assert the(generalise_call([*often, *others]), "code") == ("task", "ZX-0000")


def test_without_a_majority_nothing_is_bound() -> None:
    def asked(number: int) -> Trajectory:
        place = ["one", "two", "three"][number % 3]
        note = call(f"read_{place}", {}, json.dumps({"code": f"K-{number}771"}))
        return attempt(f"Request {number}", note, call("apply", {"code": f"K-{number}771"}, "done"))

    assert the(generalise_call([last(asked(number)) for number in range(9)]), "code") == ("", "")


def test_answers_of_failed_calls_and_later_ones_are_no_source() -> None:
    def asked(number: int) -> Trajectory:
        answer = json.dumps({"code": f"K-{number}771"})
        return attempt(
            f"Request {number}",
            call("peek", {}, answer, result=StepResult.FAILED),
            call("apply", {"code": f"K-{number}771"}, answer),
            call("show", {}, answer),
        )

    calls = [Occurrence(run, run.actions[1]) for run in map(asked, range(6))]
    assert the(generalise_call(calls), "code") == ("", "")


def test_nested_arguments_are_bound_part_by_part() -> None:
    def asked(number: int) -> Trajectory:
        person = {"home": {"zip": f"0{number}067", "city": f"Town {chr(65 + number)}"}}
        address = {"zip": f"0{number}067", "town": {"zip": f"Town {chr(65 + number)}"}}
        return attempt(
            f"Move order {number}", call("person", {}, json.dumps(person)), call("move", {"to": address}, "")
        )

    general = generalise_call([last(asked(number)) for number in range(6)])
    assert general.arguments == {"to": {"zip": "{to_zip}", "town": {"zip": "{zip}"}}} or general.arguments == {
        "to": {"zip": "{zip}", "town": {"zip": "{town_zip}"}}
    }
    assert {one.key for one in general.parameters} == {"home.zip", "home.city"}


def test_a_list_of_records_is_bound_field_by_field() -> None:
    def asked(number: int) -> Trajectory:
        flights = [{"flight": f"FL{number}{leg}0", "day": f"2026-03-1{leg}"} for leg in range(1 + number % 2)]
        found = call(
            "find_flights", {}, json.dumps({"results": [{"code": one["flight"], "seats": 3} for one in flights]})
        )
        days = " and ".join(one["day"] for one in flights)
        rows = [{**one, "cabin": "economy"} for one in flights]
        return attempt(f"Trip {number} on {days}", found, call("book", {"flights": rows, "extras": []}, "done"))

    general = generalise_call([last(asked(number)) for number in range(10, 18)])
    assert general.arguments == {"flights": [{"flight": "{flight}", "day": "{day}", "cabin": "economy"}], "extras": []}
    assert the(general, "flight") == ("find_flights", "results[].code")
    assert the(general, "day") == ("task", "<date>")
    assert {one.type for one in general.parameters} == {"array"}


def test_an_empty_list_among_lists_of_records_does_no_harm() -> None:
    def asked(number: int) -> Trajectory:
        rows = [{"code": f"K-{number}771"}] if number else []
        return attempt(f"Request {number} for K-{number}771", call("apply", {"rows": rows}, "done"))

    assert generalise_call([last(asked(number)) for number in range(6)]).arguments == {"rows": [{"code": "{code}"}]}


def test_calls_recorded_without_arguments_do_not_count() -> None:
    empty = attempt("Something else", call("open_roaming", {}, "done"))
    assert generalise_call([*ACCOUNTS, *[last(empty)] * 9]) == generalise_call(ACCOUNTS)


def test_every_parameter_rests_on_spans_that_hold_its_values() -> None:
    by_id = {one.trajectory.id: one.trajectory for one in ACCOUNTS}
    general = generalise_call(ACCOUNTS)
    assert set(general.spans) == {one.name for one in general.parameters}
    for name, spans in general.spans.items():
        assert spans
        for span in spans:
            run = by_id[span.trajectory_id]
            step = run.steps[span.step]
            assert span == Span(run.id, step.index, "observation")
            assert run.actions[-1].arguments[name] in step.observation


def test_the_order_of_the_attempts_makes_no_difference() -> None:
    mixed = list(SHOPS)
    random.Random(7).shuffle(mixed)
    assert generalise_call(mixed) == generalise_call(SHOPS)


def test_no_calls_bind_nothing() -> None:
    assert generalise_call([]) == GeneralCall()
