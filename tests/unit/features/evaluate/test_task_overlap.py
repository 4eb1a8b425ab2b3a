"""Overlaps: one task in other clothes is found, and honest tasks that look alike are let be."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping
from itertools import combinations, combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.features.evaluate.task_overlap import (
    ALIKE,
    Clusters,
    Leak,
    TaskProfile,
    candidate_pairs,
    find_leaks,
    initial_observations,
    near_duplicates,
    own_solutions,
    same_start,
)
from tacit.features.evaluate.tool import Call, Turn
from tacit.text.similarity import jaccard


def call(tool: str, **arguments: object) -> Call:
    return Call(tool=tool, arguments=arguments)


def matter(key: str, text: str, *calls: Call, **seen: str) -> TaskProfile:
    return TaskProfile(key, text, calls, seen)


ASKED = "Please find out why the nightly export of invoices stops after the third customer and mend it"


TEXTS = st.sampled_from(
    [
        "Restart the server on port 8080 since it hangs",
        "Restart the server on port 9090 since it hangs",
        "Restart the server on port 9090 as it hangs",
        "Look after the lamp in the hall of the house at number 12 before Ann comes home",
        "Look after the lamp in the hall of the house at number 12 before Ben comes home",
        "",
    ]
)
CALLS = st.lists(st.sampled_from([call("edit_file", f=name) for name in "abcde"]), max_size=5).map(tuple)
SEEN = st.dictionaries(st.sampled_from(["look", "list"]), st.sampled_from(["up", "down", "pid 12", "pid 13"]))
MATTERS = st.lists(st.builds(TaskProfile, st.just("t"), TEXTS, CALLS, SEEN), max_size=10)


def one_by_one(matters: list[TaskProfile]) -> list[list[int]]:
    """What is nearly the same, found by holding every task against every other."""
    groups = Clusters(len(matters))
    pairs = list(combinations(range(len(matters)), 2))
    for left, right in pairs:
        one, other = matters[left], matters[right]
        is_same = bool(one.solution) and one.solution == other.solution
        is_worded = jaccard(one.shingles, other.shingles) >= ALIKE and (
            jaccard(one.solution, other.solution) >= ALIKE or not (one.solution | other.solution)
        )
        is_numbered = is_same and jaccard(one.numberless, other.numberless) >= ALIKE and one.words != other.words
        may_be_one = same_start(one.seen, other.seen) or (
            is_same and same_start(one.numberless_seen, other.numberless_seen)
        )
        if may_be_one and (is_worded or is_numbered):
            groups.join(left, right)
    own = own_solutions(matters, groups.leaders())
    for left, right in pairs:
        one, other = matters[left], matters[right]
        if one.solution == other.solution and one.solution in own and same_start(one.seen, other.seen):
            groups.join(left, right)
    return groups.several()


@given(MATTERS)
def test_what_is_found_in_one_look_is_what_holding_every_task_against_every_other_finds(
    matters: list[TaskProfile],
) -> None:
    assert near_duplicates(matters) == one_by_one(matters)


def test_the_same_words_with_another_solution_are_another_task() -> None:
    both = [matter("a", ASKED, call("edit", file="x.py")), matter("b", ASKED, call("edit", file="y.py"))]
    assert near_duplicates(both) == []


def test_nearly_the_same_words_with_the_same_solution_are_one_task() -> None:
    other = f"{ASKED} today"
    both = [matter("a", ASKED, call("edit", file="x.py")), matter("b", other, call("edit", file="x.py"))]
    assert near_duplicates(both) == [[0, 1]]


def test_one_piece_of_work_asked_for_in_other_words_is_one_task() -> None:
    one = matter("a", "I am Ann, shy and rigid. Cancel order 77.", call("cancel_order", id="77"))
    other = matter("b", "Bob here for Ann: her order 77 is no longer wanted.", call("cancel_order", id="77"))
    rest = [matter(f"c{n}", f"Cancel order {n}", call("cancel_order", id=str(n))) for n in range(20)]
    assert near_duplicates([one, *rest, other]) == [[0, 21]]


def test_a_solution_that_many_tasks_share_does_not_make_them_one() -> None:
    causes = "the router hums|nobody can log in|mail bounces since noon|the fan is loud|a page stays white".split("|")
    assert near_duplicates([matter(cause, cause, call("restart_server")) for cause in causes]) == []


def test_the_same_words_and_solution_from_another_state_are_another_task() -> None:
    both = [matter(key, ASKED, call("reset_network"), look=seen) for key, seen in (("a", "no SIM"), ("b", "no signal"))]
    assert near_duplicates(both) == []


def test_clocks_durations_and_hashes_do_not_make_another_state() -> None:
    def seen(answer: str) -> dict[str, str]:
        return initial_observations([Turn(call=call("get_log"), observation=answer)])

    one = seen("2026-01-02T10:11:12Z job a1b2c3d4e5 took 12.5 s: stopped on 2026-05-01")
    assert same_start(one, seen("2026-02-03T01:02:03Z job 99ffee0011 took 3 s: stopped on 2026-05-01"))
    assert not same_start(one, seen("2026-01-02T10:11:12Z job a1b2c3d4e5 took 12.5 s: stopped on 2027-05-01"))


RESTART = call("restart_service", name="billing")


def begun(key: str, text: str, answer: str, *calls: Call) -> TaskProfile:
    """A task whose attempt looked first and then made these calls."""
    return TaskProfile.of(
        key, text, [Turn(call=call("get_log"), observation=answer), *(Turn(call=each) for each in calls)]
    )


@pytest.mark.parametrize(
    "answer",
    [
        "ann {} 0.0 0.1 billing",
        "listening on port {}, {} kB",
        "-rw-r--r-- 1 ann 12{} Jan {} 10:11 log",
        "pod billing-7d9f8b6c{}-x2{}z runs",
        "see /tmp/tmp.Q{}/log",
    ],
)
def test_one_task_reported_forty_times_with_other_numbers_is_one_task(answer: str) -> None:
    result = [begun(f"a{n}", ASKED, answer.format(200 + n, 300 + n), RESTART) for n in range(40)]
    assert near_duplicates(result) == [list(range(40))]
    assert len(find_leaks(result[:-1], result[-1:])) == 1


def test_a_number_in_the_request_does_not_make_another_task_of_the_same_work() -> None:
    result = [
        matter(f"a{n}", f"Run {n} failed again: restart billing and look at it, please", RESTART) for n in range(40)
    ]
    assert near_duplicates(result) == [list(range(40))]
    assert len(find_leaks(result[:20], result[20:])) == 20


def test_numbers_that_the_calls_are_about_make_other_tasks() -> None:
    text = "Please cancel the newest order of mine and tell me when that is done, number {}"
    by_request = [matter(f"a{n}", text.format(n), call("cancel_order", id=str(n))) for n in range(40)]
    by_answer = [begun(f"a{n}", ASKED, f"newest order: {n}", call("cancel_order", id=str(n))) for n in range(40)]
    for tasks in (by_request, by_answer):
        assert near_duplicates(tasks) == []
        assert find_leaks(tasks[:20], tasks[20:]) == []


def test_requests_without_calls_differ_by_their_numbers() -> None:
    frame = "Where is my order {}"
    assert near_duplicates([matter(f"a{n}", frame.format(n)) for n in range(5)]) == []


@pytest.mark.parametrize("answers", [("4G", "2G"), ("ends on 2026-05-01", "ends on 2027-05-01"), ("3 open", "3 shut")])
def test_what_is_more_than_a_number_still_makes_another_state(answers: tuple[str, str]) -> None:
    assert near_duplicates([begun(answer, ASKED, answer, RESTART) for answer in answers]) == []


def test_places_that_a_run_makes_for_itself_do_not_make_another_solution() -> None:
    result = [matter(f"a{n}", ASKED, call("move_file", source=f"/tmp/tmp.x{n}/r.csv", to="out")) for n in range(5)]
    assert near_duplicates(result) == [list(range(5))]


@pytest.mark.parametrize("copies", [1, 2, 3, 5, 10, 50])
def test_a_task_that_is_reported_often_is_no_less_leaked(copies: int) -> None:
    def tasks(name: str, times: int) -> list[TaskProfile]:
        text = "Please refund order W{0} to the customer zeta{0} who lives in kappa{0} street, number omega{0}, now"
        return [
            matter(f"{name}{n}-{time}", text.format(n), call("pay_back", order=f"W{n}"))
            for n in range(10)
            for time in range(times)
        ]

    assert len(find_leaks(tasks("a", copies), tasks("t", 1))) == 10


def test_only_what_was_seen_before_the_first_change_tells_the_state() -> None:
    turns = [Turn(call=call("get_order"), observation="open"), Turn(call=call("cancel_order"), observation="ok")]
    assert len(initial_observations([*turns, Turn(call=call("list_orders"), observation="none")])) == 1


def test_a_test_whose_words_and_solution_are_trained_on_is_leaked() -> None:
    train = [matter("a", f"Hello. {ASKED}, thank you very much", call("edit", file="x.py"))]
    assert find_leaks(train, [matter("t", ASKED, call("edit", file="x.py"))]) == [Leak("t", "a", 1.0)]


def test_a_test_is_leaked_by_its_own_solution_under_other_words() -> None:
    train = [matter("a", "Ann sends the kettle back", call("return_items", id="9"))]
    assert find_leaks(train, [matter("t", "A return for order nine", call("return_items", id="9"))])


def test_a_test_with_the_words_of_a_training_task_and_another_solution_is_not_leaked() -> None:
    train = [matter("a", ASKED, call("edit", file="x.py"))]
    assert not find_leaks(train, [matter("t", ASKED, call("edit", file="y.py"))])


@pytest.mark.parametrize(("text", "is_leaked"), [(ASKED, True), ("Why does the import of customers stop", False)])
def test_where_no_solution_is_known_words_alone_tell(text: str, is_leaked: bool) -> None:
    assert bool(find_leaks([matter("a", ASKED, call("edit"))], [matter("t", text)])) is is_leaked


def test_a_template_that_many_tasks_share_is_no_leak() -> None:
    frame = "You are a patient customer of the shop and would like to have your order cancelled, number {}"
    train = [matter(f"a{n}", frame.format(n), call("cancel_order", id=str(n))) for n in range(50)]
    tests = [matter(f"t{n}", frame.format(n)) for n in range(100, 110)]
    assert find_leaks(train, tests) == []


def test_tasks_that_are_only_alike_do_not_lead_to_one_another() -> None:
    """Where many tasks share their words, each is near the next; only the very one that is asked is given away."""
    text = "My phone cannot send pictures since this morning, please help me with it"
    mends = [Call(tool=f"mend_{letter}") for letter in "abcdefghijklmnopqrst"]
    known = [TaskProfile(key=f"known {n}", text=text, calls=tuple(mends[n : n + 10])) for n in range(8)]
    asked = TaskProfile(key="asked", text=text, calls=known[2].calls)
    assert [(leak.test, leak.task) for leak in find_leaks(known, [asked])] == [("asked", "known 2")]
    other = TaskProfile(key="other", text=text, calls=(*mends[2:11], call("mend_z")))
    assert find_leaks(known, [other]) == []


class Watched(Mapping[str, str]):
    """What an attempt saw, with a count of how often anybody looked."""

    looks = 0

    def __init__(self, seen: dict[str, str]) -> None:
        self._seen = seen

    def __getitem__(self, call: str) -> str:
        Watched.looks += 1
        return self._seen[call]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)


def test_attempts_that_are_all_worded_alike_are_not_held_against_one_another_one_by_one() -> None:
    letters = "abcdefghijklmnopqrst"
    states = [f"state {one}{other}" for one in letters for other in letters]
    every = [TaskProfile(state, ASKED, (RESTART,), Watched({"look": state})) for state in states]
    again = TaskProfile("again", ASKED, (RESTART,), Watched({"look": "state ca"}))
    Watched.looks = 0
    assert near_duplicates([*every, again]) == [[40, 400]]
    assert Watched.looks < 10 * len(every)
    Watched.looks = 0
    assert find_leaks(every[:200], [*every[200:], again]) == [Leak("again", "state ca", 1.0)]
    assert Watched.looks < 10 * len(every)


def test_tasks_in_one_frame_of_words_with_solutions_of_their_own_are_hardly_compared() -> None:
    informative_metrics = [(["a frame"], [number]) for number in range(500)]
    assert len(list(candidate_pairs(informative_metrics))) == 500
    alike = [((number // 2,), ("a call",)) for number in range(500)]
    assert len(list(candidate_pairs(alike))) == 750


TELLING = st.lists(st.tuples(*[st.lists(st.integers(0, 6), max_size=4)] * 2), max_size=12)


@given(TELLING)
def test_candidates_are_all_pairs_that_share_something_in_both_lists(
    informative_metrics: list[tuple[list[int], list[int]]],
) -> None:
    places = combinations_with_replacement(range(len(informative_metrics)), 2)
    sharing = [
        (one, other)
        for one, other in places
        if all(
            set(here) & set(there)
            for here, there in zip(informative_metrics[one], informative_metrics[other], strict=True)
        )
    ]
    assert sorted(candidate_pairs(informative_metrics)) == sorted(sharing)


def test_long_tasks_with_many_calls_take_no_room_for_every_pair_of_both() -> None:
    informative_metrics = [
        ([f"{task} word {n}" for n in range(300)], [f"{task} call {n}" for n in range(100)]) for task in range(10)
    ]
    tracemalloc.start()
    assert len(list(candidate_pairs(informative_metrics))) == 10
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000
