from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tacit.domain.trajectory import StepResult, Trajectory
from tacit.learn.statements import Statement, objections_of, rule_of, sentences, statements_of, typed_words
from tacit.text.tool_calls import tool_calls
from tests.unit.learn.attempts import attempt, bash, call, reply, say, slip_in


def heard(trajectory: Trajectory) -> tuple[Statement, ...]:
    return statements_of(trajectory, tool_calls(trajectory))


def standing(message: str, *before: dict[str, Any]) -> list[str]:
    """The rules in a message that comes after some work."""
    trajectory = attempt("Get on with it", *(before or (bash("touch a"),)), say(message))
    return [each.text for each in heard(trajectory) if each.standing]


@pytest.mark.parametrize(
    "message",
    [
        "Never commit to main.",
        "npm is wrong here - always pnpm please.",
        "Always run the linter before you commit",
        "From now on write the changelog in German.",
        "Next time you change the schema, let me look at it first.",
        "Every time you finish a task, run make check.",
        "Whenever you change the schema, regenerate the client.",
        "Don't use npm here, we use pnpm.",
        "Tests must never depend on the clock.",
        "Minor releases are never urgent, only security fixes are.",
        "When writing tests, use fakes rather than mocks.",
        "Only commit when I ask you to.",
        "Use table tests wherever possible",
        "Don't wrap the lines in the letters since the mail client does that",
        "Do not run the whole suite every time.",
        "Don't add banners to the scripts, they just clutter the output.",
        "stop writing docstrings",
        "We use tabs in this codebase.",
        "This repo uses pnpm.",
        "use pnpm here, not npm",
        "Our convention is snake_case for files",
        "Remember to update the docs when you change a flag.",
        "I prefer short functions",
        "I don't want you to touch the migrations.",
        "Prefer composition over inheritance.",
        "In the guides use only relative links rather than full addresses (e.g. `./setup.md`)",
        "Ab jetzt bitte auf Deutsch antworten.",
        "À partir de maintenant, utilise pnpm.",
        "Nunca hagas push a main.",
        "Всегда запускай тесты перед коммитом.",
        "以后请用中文回答",
        "今後はpnpmを使ってください。",
        "ボタンの色を変えるな",
        "앞으로는 pnpm을 사용해 주세요",
    ],
)
def test_standing_rule_is_heard_whole(message: str) -> None:
    assert standing(message) == [message]


@pytest.mark.parametrize(
    "message",
    [
        "continue",
        "fix the typo in line 3",
        "thanks, that works",
        "never mind",
        "No, I don't have the email with me.",
        "I'd prefer the second one.",
        "I prefer option B",
        "Don't cancel the other order",
        "I never received the package",
        "Why do you use print here?",
        "Should we always use the log helper?",
        "can you always show the price?",
        "Now add a test for the export",
        "no, call it Save, not Store",
        "The test is wrong - always fails here",
        "This will always return null",
        "the api should never return null but it does",
        "I think we should always cache the list",
        "Do not change the code just yet.",
        "Don't include the header in this PR",
        "Don't do that.",
        "stop doing that",
        "Fix this so that it always holds.",
        "`load` in [a.ts](src/a.ts) must always check the key",
        "stop",
        "you always forget the semicolon",
        "Every time I save the page, it loads again",
        "We may add more shops in the future.",
        "Don't commit, I will look at it first",
        "don't change the header, only the footer",
        "Do not make any code changes, just tell me",
        "stop showing the banner after the first click",
        "I prefer the blue header",
        "here you can see the list",
        "the app uses too much memory",
        "毎回エラーになる",
        "なんで毎回こうなるの？",
        "次の画面を実装して",
        "",
        "### \x00 `",
    ],
)
def test_requests_questions_guesses_and_reports_are_no_rules(message: str) -> None:
    assert standing(message) == []


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("add the two cases as well, never mock the clock (also in the old ones)", "never mock the clock"),
        ("When you touch the parser, always run the fuzzer", "When you touch the parser, always run the fuzzer"),
        ("Keep the names short, not clever, from now on", "Keep the names short, not clever, from now on"),
    ],
)
def test_request_about_something_at_hand_is_cut_from_the_rule(message: str, rule: str) -> None:
    assert [each.text for each in heard(attempt("Go", bash("touch a"), say(message))) if each.standing] == [rule]


def test_reason_and_exception_belong_to_the_statement() -> None:
    rule = "Do not rebuild the site on every run. If you are ready, ask me to look."
    message = f"Why is the page grey? The menu is too wide. {rule} Then make the logo smaller and move the search box."
    assert standing(message) == [rule]


def test_statement_that_is_too_long_is_not_taken() -> None:
    assert standing("Always use the log helper " + "for the many things that we print " * 10) == []
    assert standing("Always use the log helper. " * 100) == []


def test_abbreviations_brackets_and_code_do_not_end_a_sentence() -> None:
    text = "Use short names, e.g. `a. b`, i.e. two letters (not three. Never four). Done! 終わり。次へ"
    assert sentences(text) == [
        "Use short names, e.g. `a. b`, i.e. two letters (not three. Never four).",
        "Done!",
        "終わり。",
        "次へ",
    ]


def test_items_and_wrapped_lines() -> None:
    wrapped = "This line was wrapped by an editor at about eighty columns, so that\nit goes on here."
    assert sentences(f"- one thing\n2. another\n{wrapped}") == ["one thing", "another", wrapped.replace("\n", " ")]


@pytest.mark.parametrize(
    "text",
    [
        "> Never use tabs.",
        "```\nNever use tabs.\n```",
        "    Never use tabs.",
        'The page says "Never use tabs in this project, always use spaces."',
        "# Rules\nNever use tabs.",
        "**Never** use tabs.",
        "<notice>Never use tabs.</notice>",
        "/review Never use tabs.",
        "The user wants to clarify these questions. Never use tabs.",
        "PLEASE IMPLEMENT THIS PLAN:\nNever use tabs.",
    ],
)
def test_pasted_and_quoted_text_is_not_the_persons_own(text: str) -> None:
    assert standing(text) == []


def test_note_of_the_client_is_cut_off() -> None:
    note = "Note: The user's next message may contain a correction or preference. Always pay attention."
    assert typed_words(f"Never use tabs.\n\n{note}") == "Never use tabs."


def test_what_a_tool_or_the_agent_wrote_before_is_only_passed_on() -> None:
    assert standing("Never use tabs here.", bash("cat STYLE", "Style\nNever use tabs here.\n")) == []
    assert standing("Never use tabs here.", bash("ls"), reply("The guide says: Never use tabs here.")) == []


def test_first_message_can_state_a_rule() -> None:
    (rule,) = heard(attempt("Never use print here, use the log helper.", bash("ls")))
    assert (rule.standing, rule.before, len(rule.after)) == (True, (), 1)


def test_prompt_of_another_agent_and_text_of_the_host_state_none() -> None:
    own = attempt("Never use print here.", slip_in("Always be brief."), bash("ls"))
    assert len(heard(own)) == 1
    assert heard(dataclasses.replace(own, parent_session_id="s-1", id="")) == ()


def test_message_that_was_typed_again_counts_once() -> None:
    trajectory = attempt("Go on", bash("ls"), say("Never use tbas here."), say("Never use tabs here."))
    assert [each.text for each in heard(trajectory)] == ["Never use tabs here."]


def test_refusal_with_a_word_on_the_refused_call_is_a_rule() -> None:
    refused = {
        **bash("npm publish", "The user doesn't want to proceed"),
        "result": StepResult.DENIED,
        "exit_code": None,
    }
    assert standing("don't publish from a laptop", refused) == ["don't publish from a laptop"]
    assert standing("don't make a branch", refused) == []
    assert standing("don't publish from a laptop", bash("npm publish")) == []


def test_objections_are_rules_and_refusals_after_work() -> None:
    trajectory = attempt(
        "Never use tabs.",
        bash("touch a"),
        say("no, call it b"),
        bash("touch b"),
        say("Always use spaces here."),
        say("thanks"),
    )
    assert objections_of(trajectory, tool_calls(trajectory)) == (2, 4)


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("No, don't use print", "Don't use print."),
        ("yes and do not wrap lines (they break)", "Do not wrap lines (they break)"),
        ("stop using npm!", "Stop using npm."),
        ("no need to run the suite", "No need to run the suite."),
        ("never push!!!", "Never push."),
        ("`make check` if you are done", "`make check` if you are done"),
        ("npmは使わないで", "npmは使わないで"),
        ("never write /home/" + "ann/notes", "Never write /home/" + "name/notes."),
    ],
)
def test_rule_keeps_the_persons_words_and_sense(statement: str, rule: str) -> None:
    assert rule_of(statement) == rule


def test_a_customer_who_is_served_by_tools_states_no_rules_of_work() -> None:
    served = attempt("Never charge my card twice.", call("get_order", {"order_id": "W1"}, "open"))
    assert statements_of(served, tool_calls(served)) == ()
    worked = attempt("Never charge a card twice in this project.", bash("make test", "ok"))
    assert [each.text for each in statements_of(worked, tool_calls(worked))] == [
        "Never charge a card twice in this project."
    ]
