"""Laws of redaction: idempotent, total, blind to its own placeholders, and it keeps the shape of values."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from bench.redaction import TOKENS, designed
from tacit.text.redaction import may_hold_secret, redact, redact_value
from tacit.text.redaction.patterns import shaped_secrets

SHORTEST_RUN = 20
PLANTED = [planted.text for planted in designed(150, seed=3)]
SCRAPS = [
    "password", "token", "secret", "api_key", "=", ": ", ":", '"', "'", "\\", "\n", " ", "://", "@", "hunter2",
    "a1B2c3D4e5F6g7H8", "<", ">", "<redacted:password>", "<redacted:jwt>", "-----BEGIN PRIVATE " + "KEY-----",
    "-----END PRIVATE " + "KEY-----", "Bearer ", "--", ",", "(", ")", "|", "&", ";", "Cookie: ", "Authorization: ",
    "curl -u bob:", "sk-", "eyJ", "$6$", "%3D", "value", "İ", "\udc80", "QUJDREVGR0hJSktMTU5PUA==",
]  # fmt: skip

texts = st.one_of(
    st.text(),
    st.lists(st.one_of(st.sampled_from(SCRAPS), st.sampled_from(PLANTED), st.text(max_size=8)), max_size=14).map(
        "".join
    ),
)
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts)
keys = st.one_of(st.sampled_from(["password", "tokens", "name", "value", "api_key", "text"]), st.text(max_size=8))
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


@given(texts)
@example("<redacted:password>=hunter2x")
@example("password=<redacted:password>hunter2x")
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once.text).text == once.text
    assert (once.text != text) == bool(once.found)


@given(texts, st.sampled_from(["<redacted:password>", "<redacted:private-key>"]), texts)
def test_a_placeholder_stands_where_it_stood(before: str, placeholder: str, after: str) -> None:
    output = redact(before + placeholder + after).text
    assert output.count("<redacted:") >= 1
    assert placeholder in output


@given(st.text(alphabet="bdfgilmnqrvxz ,.\n"))
def test_text_without_triggers_comes_back_as_it_was(text: str) -> None:
    assert redact(text).text is text


@given(values)
def test_a_value_keeps_its_shape_and_everything_that_is_no_string(value: Any) -> None:
    result = redact_value(value).value
    assert _shape(result) == _shape(value)
    assert redact_value(result).value == result


@given(texts)
def test_a_json_document_is_flagged_whenever_its_text_holds_a_secret(text: str) -> None:
    if redact(text).found:
        assert may_hold_secret(json.dumps(text))
        assert may_hold_secret(json.dumps({"content": text}, ensure_ascii=False))


glued = st.builds(
    lambda kind, rng, before, after: f"{before}{TOKENS[kind][0]}{TOKENS[kind][1](rng)}{after}",
    st.sampled_from(sorted(TOKENS)),
    st.randoms(use_true_random=False).map(lambda rng: random.Random(rng.getrandbits(64))),
    st.text(alphabet="abkKZ09_-./\\nu\n", max_size=12),
    st.text(alphabet="axX9_-./ ", max_size=6),
)


@given(glued)
def test_a_token_behind_any_word_is_flagged_where_it_is_redacted_and_settles(text: str) -> None:
    spans = [span for span in shaped_secrets(text) if span.end - span.start >= SHORTEST_RUN]
    if spans:
        assert may_hold_secret(text)
        assert may_hold_secret(json.dumps(text))
    once = redact(text).text
    assert redact(once).text == once


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [_shape(item) for item in value.values()]
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return "text" if isinstance(value, str) else value
