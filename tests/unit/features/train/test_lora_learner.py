"""Only what the agent says is learned, in the very tokens in which it is asked; what would differ is refused."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.errors import Refusal
from tacit.features.evaluate.conversation import ChatMessage, attempt_messages
from tacit.features.evaluate.local_model import end_of_turn, prompts, split_into_batches
from tacit.features.evaluate.tool import Call, Tool, Turn
from tacit.features.train.examples import Example
from tacit.features.train.lora_learner import IGNORED, Encoded, encode_all, step_at, steps_of
from tests.raising import raises
from tests.unit.features.train.chatml import ChatML

TOOL = Tool(name="look", required=("at",))
TURNS = [
    Turn(call=Call(tool="look", arguments={"at": "a"}), observation="nothing", failed=True),
    Turn(call=Call(tool="look", arguments={"at": "b"}), observation="found"),
]
MESSAGES = tuple(attempt_messages("Find it.", [TOOL], TURNS))


def example(messages: Sequence[ChatMessage] = MESSAGES, *, silent: tuple[int, ...] = ()) -> Example:
    return Example(task="t", trajectory_id="x", messages=tuple(messages), silent=silent)


def encode(messages: Sequence[ChatMessage], tokenizer: ChatML, *, silent: tuple[int, ...] = ()) -> Encoded:
    (found,) = encode_all([example(messages, silent=silent)], tokenizer)
    return found


def test_only_the_agents_words_and_the_end_of_its_turn_are_learned():
    tokenizer = ChatML()
    encoded = encode(MESSAGES, tokenizer)
    learned = [label for label in encoded.labels if label != IGNORED]
    assert tokenizer.decode(learned) == "".join(f"{MESSAGES[place].content}<|im_end|>" for place in (2, 4, 6))
    assert all(label in {IGNORED, token} for token, label in zip(encoded.ids, encoded.labels, strict=True))
    assert encoded.learned == len(learned)


def test_before_each_word_of_the_agent_stands_exactly_what_it_is_asked():
    tokenizer = ChatML()
    encoded = encode(MESSAGES, tokenizer)
    for place in (2, 4, 6):
        (asked,) = prompts([MESSAGES[:place]], tokenizer)
        assert list(encoded.ids[: len(asked)]) == asked
        assert encoded.labels[len(asked) - 1] == IGNORED != encoded.labels[len(asked)]


def test_a_call_that_failed_is_shown_and_not_learned():
    tokenizer = ChatML()
    silent = encode(MESSAGES, tokenizer, silent=(2,))
    whole = encode(MESSAGES, tokenizer)
    assert silent.ids == whole.ids
    learned = tokenizer.decode([label for label in silent.labels if label != IGNORED])
    assert learned == "".join(f"{MESSAGES[place].content}<|im_end|>" for place in (4, 6))


def test_an_example_that_is_too_long_is_left_out_and_never_cut():
    tokenizer = ChatML()
    whole = encode(MESSAGES, tokenizer)
    assert encode_all([example()], tokenizer, longest=len(whole.ids)) == [whole]
    assert encode_all([example()], tokenizer, longest=len(whole.ids) - 1) == []
    assert encode_all([], tokenizer) == []


def test_a_conversation_without_a_word_of_the_agent_is_left_out():
    assert encode_all([example(MESSAGES[:2])], ChatML()) == []


def test_a_tokenizer_that_joins_the_agents_words_with_what_is_before_them_is_refused():
    with raises(Refusal, "ambiguous_tokens"):
        encode(MESSAGES, ChatML(joins=True))


def test_a_template_that_lays_out_earlier_turns_differently_is_refused():
    with raises(Refusal, "unstable_template"):
        encode(MESSAGES, ChatML(forgets=True))


def test_a_template_without_a_token_that_ends_a_turn_is_refused():
    assert end_of_turn(ChatML()) == (1, "<|im_end|>")
    with raises(Refusal, "no_end_of_turn"):
        encode([ChatMessage("user", "a"), ChatMessage("assistant", "b")], ChatML(end="\n"))


LENGTHS = st.lists(st.integers(1, 500), min_size=1, max_size=200)


@given(LENGTHS, st.integers(1, 20), st.integers(0, 5))
def test_a_pass_takes_every_conversation_once(lengths: list[int], examples: int, seed: int):
    steps = steps_of(lengths, examples=examples, seed=seed, number=0)
    assert sorted(one for step in steps for one in step) == list(range(len(lengths)))
    assert all(1 <= len(step) <= examples for step in steps)
    assert len(steps) == -(-len(lengths) // examples)


def test_passes_and_seeds_differ_and_repeat():
    lengths = list(range(10, 90))
    first = steps_of(lengths, examples=4, seed=1, number=0)
    assert steps_of(lengths, examples=4, seed=1, number=0) == first
    assert steps_of(lengths, examples=4, seed=1, number=1) != first
    assert steps_of(lengths, examples=4, seed=2, number=0) != first


@given(LENGTHS, st.integers(1, 20))
def test_the_steps_of_a_pass_can_be_had_one_by_one_so_that_a_training_can_go_on(lengths: list[int], examples: int):
    passes = [steps_of(lengths, examples=examples, seed=3, number=number) for number in (0, 1)]
    wanted = [step for one in passes for step in one]
    assert [step_at(lengths, number, examples=examples, seed=3) for number in range(len(wanted))] == wanted


def test_conversations_of_like_length_share_a_step():
    lengths = [10, 500] * 40
    steps = steps_of(lengths, examples=8, seed=0, number=0)
    mixed = [step for step in steps if len({lengths[one] for one in step}) > 1]
    assert len(mixed) <= 2


@given(LENGTHS, st.integers(1, 2000))
def test_a_batch_never_holds_more_than_the_device_unless_one_conversation_does(lengths: list[int], most: int):
    batches = split_into_batches(range(len(lengths)), lengths, most_tokens=most)
    assert sorted(one for batch in batches for one in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[one] for one in batch) * len(batch) <= most
