"""What a user's next message states about the work before it, and which commands a user names as a condition."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.domain.evidence import Grade, Outcome
from tacit.domain.trajectory import Role, Step, StepResult, Task, Trajectory
from tacit.evidence.assessment import assess, explain_assessment, is_courtesy, stated_outcome
from tests.unit.making import attempt, edit, shell

CHANGE = edit("invoice/schema.py")

ACCEPTED = """
works, thanks
Works!
it works now, thank you
perfect, commit it
lgtm
LGTM 👍
Looks good to me
that fixed it
That did the trick.
Perfect!
Perfect. Now add a test for the parser
exactly what I wanted
ok great, it works
tests pass now
all green
ship it
great work, merge it
Awesome, works like a charm
The build passes now. Next, update the docs
it works perfectly on my machine
That's perfect, thank you so much!
I tested it and it works
yes, that solved the problem
looks great, please push it
Nice job! Can you also write a README?
everything works as expected
works for me
It’s working now
approved
"""

REJECTED = """
still fails
It still fails with the same error
that's wrong
No, that is wrong. Use the other table
revert this
undo
Undo that please
please revert your changes
That didn't work
doesn't work
not working
still the same error
I'm still getting the same error
the tests are still failing
you broke the login page
not what I asked for
That's not what I meant
now it crashes on startup
this made things worse
same error again
hmm, still broken
sorry, that is incorrect
roll back the last commit
CI is red again
Nope, wrong.
It doesn't compile
still doesn't work: TypeError
put it back the way it was
That’s not right
unfortunately it still crashes
the build fails
"""

NEITHER = """
thanks
Thank you!
ok
great
cool, thanks
thanks, now add dark mode
Great, next fix the footer
does it still fail?
Is that wrong?
does it work?
if it still fails, try the other approach
when it works, commit it
works, but the colours are off
it works except on Safari
works locally, still fails in CI
almost perfect
Oh great, another crash
thanks for nothing
perfect, you broke the build
perfect, now it crashes
Works. lol
works 🙄
Perfect the error handling in parser.py
Perfect is the enemy of good
Looks like it works
I think it works
it should work now
hopefully that works
check that everything works
make the tests pass
let me test it
I tested it
commit this
continue
yes
no
no, leave it
what changed?
The docs say "works fine"
Users still get an error on the billing page
The login page is broken on Safari
Add an undo button to the editor
undo support for the canvas would be nice
Revert the default theme setting to dark in settings.py
Write a test that still fails on main
Wrong order of arguments is passed in foo(), please investigate
that's a good question
👍
进行得很好
funktioniert nicht
"""


def table(lines: str) -> list[str]:
    return lines.strip().splitlines()


@pytest.mark.parametrize("message", table(ACCEPTED))
def test_plain_acceptance_is_success(message: str) -> None:
    assert stated_outcome(message) is Outcome.SUCCESS


@pytest.mark.parametrize("message", table(REJECTED))
def test_plain_rejection_is_failure(message: str) -> None:
    assert stated_outcome(message) is Outcome.FAILURE


@pytest.mark.parametrize("message", ["", "  \n", *table(NEITHER)])
def test_anything_else_says_nothing(message: str) -> None:
    assert stated_outcome(message) is Outcome.UNKNOWN


def test_manners_leave_everything_as_it_was() -> None:
    assert all(map(is_courtesy, ["thanks!", "ok, commit it", "great, thank you so much", ""]))
    assert not any(map(is_courtesy, ["thanks, the colours are off", "ok?", "still fails", "thanks " * 100]))


def test_long_and_odd_replies_are_read_to_their_end() -> None:
    for text in (
        "works, " * 100_000,
        "it " * 200_000,
        "that is " * 9_999,
        "(" * 100_000,
        "still " * 99_999,
        "thanks so " * 9_999,
    ):
        assert not is_courtesy(text)
        assert stated_outcome(text) in (None, *Outcome)


# --- beside what the steps show -------------------------------------------------------------------------------------


def statement(text: str) -> Step:
    return Step(index=0, role=Role.USER, text=text)


def story(*steps: Step, reply: str = "") -> Trajectory:
    """A request, then these steps, numbered; and what the person said next."""
    numbered = [dataclasses.replace(step, index=index) for index, step in enumerate([statement("add a field"), *steps])]
    return Trajectory(task=Task(text="add a field"), steps=tuple(numbered), reply=reply)


def verdict(trajectory: Trajectory) -> tuple[Outcome, Grade]:
    found = assess(trajectory)
    return found.outcome, found.grade


PASSED, FAILED = shell("pytest -q", code=0), shell("pytest -q", StepResult.FAILED, code=1)
UNKNOWN = (Outcome.UNKNOWN, Grade.SELF)
ACCEPTANCE = (Outcome.SUCCESS, Grade.HUMAN)
REJECTION = (Outcome.FAILURE, Grade.HUMAN)


def test_a_persons_acceptance_is_a_human_verified_success() -> None:
    reply = "Works, thanks! Now write the docs"
    explained = explain_assessment(story(CHANGE, reply=reply))
    found = explained.assessment
    assert (found.outcome, found.grade) == ACCEPTANCE
    assert (found.verifier, found.step) == ("reply", None)
    assert (explained.reason.code, explained.reason.values) == ("accepted", {"reply": reply})
    assert reply in found.reason


def test_a_persons_no_outweighs_a_check_that_passed() -> None:
    assert verdict(story(CHANGE, PASSED)) == (Outcome.SUCCESS, Grade.MACHINE)
    assert verdict(story(CHANGE, PASSED, reply="that's wrong, revert it")) == REJECTION


def test_a_persons_yes_does_not_outweigh_a_check_that_fails() -> None:
    assert verdict(story(CHANGE, FAILED, reply="perfect, thanks")) == (Outcome.FAILURE, Grade.MACHINE)
    unanswered = story(shell("mypy src", StepResult.FAILED, code=1), shell("ruff check src", code=0), reply="lgtm")
    assert verdict(unanswered) == UNKNOWN


def test_a_yes_counts_where_the_failing_check_was_not_run_on_the_last_change() -> None:
    assert verdict(story(FAILED, CHANGE, reply="works now, thanks")) == ACCEPTANCE


def test_a_check_that_could_not_run_does_not_outweigh_an_acceptance() -> None:
    assert verdict(story(CHANGE, shell("pytest", StepResult.FAILED, code=127), reply="lgtm")) == ACCEPTANCE


def test_machine_and_person_agreeing_is_the_machines_word() -> None:
    assert verdict(story(CHANGE, PASSED, reply="works, thanks")) == (Outcome.SUCCESS, Grade.MACHINE)
    assert verdict(story(CHANGE, FAILED, reply="still fails")) == (Outcome.FAILURE, Grade.MACHINE)


@pytest.mark.parametrize("reply", ["thanks", "thanks, now add dark mode", "The footer is broken, fix it", ""])
def test_politeness_and_new_goals_leave_the_outcome_unknown(reply: str) -> None:
    assert verdict(story(CHANGE, reply=reply)) == UNKNOWN


def test_the_last_word_inside_the_attempt_counts_if_nothing_was_changed_after_it() -> None:
    commit = shell("git commit -am 'Add a field'")
    assert verdict(story(CHANGE, statement("works, commit it"), commit, statement("thanks"))) == ACCEPTANCE
    assert assess(story(CHANGE, statement("works"))).step == 2
    assert verdict(story(CHANGE, statement("works, now add another"), CHANGE)) == UNKNOWN
    assert verdict(story(CHANGE, statement("works"), statement("the colours are off"))) == UNKNOWN


def test_a_rejection_is_answered_by_going_on_to_work() -> None:
    assert verdict(story(CHANGE, statement("still fails"))) == REJECTION
    assert verdict(story(CHANGE, statement("still fails"), CHANGE)) == UNKNOWN
    assert verdict(story(CHANGE, statement("still fails"), CHANGE, PASSED)) == (Outcome.SUCCESS, Grade.MACHINE)
    assert verdict(story(CHANGE, statement("still fails"), CHANGE, statement("perfect"))) == ACCEPTANCE


def test_words_before_any_work_judge_nothing() -> None:
    assert verdict(story(statement("that's wrong"), CHANGE)) == UNKNOWN
    assert verdict(story(statement("still fails"))) == UNKNOWN
    assert verdict(attempt()) == UNKNOWN


def test_what_the_host_or_the_agent_says_is_no_persons_word() -> None:
    for role in (Role.AGENT, Role.CONTEXT):
        assert verdict(story(CHANGE, Step(index=0, role=role, text="works, thanks"))) == UNKNOWN


SCHEMA_CHANGE = edit("app/server.py")
