"""Putting Tacit's pieces into texts and taking them out: every other byte stays as it was."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.domain.errors import Mistake
from tacit.surfaces.clients.json_settings import InvalidJson, SettingsEntries, SettingsEntry, parse
from tacit.surfaces.clients.text_edits import MarkedBlock, TextDraft, TomlTable, WholeFile, without
from tests.raising import raises

FOREIGN = '{"type": "command", "command": "lint.sh"}'
GROUP = {"hooks": [{"type": "command", "command": "/opt/tacit hook", "timeout": 10}]}


def is_group(value: Any) -> bool:
    hooks = value.get("hooks") if isinstance(value, dict) else None
    return isinstance(hooks, list) and bool(hooks) and all("tacit hook" in str(hook) for hook in hooks)


WANTED = SettingsEntries(
    (
        SettingsEntry(at=("hooks", "Stop"), value=GROUP, is_ours=is_group),
        SettingsEntry(at=("hooks", "SessionStart"), value=GROUP, is_ours=is_group),
        SettingsEntry(
            at=("permissions", "deny"), value="Bash(*tacit review*)", is_ours=lambda v: v == "Bash(*tacit review*)"
        ),
        SettingsEntry(
            at=("mcpServers",), key="tacit", value={"command": "tacit"}, is_ours=lambda v: v.get("command") == "tacit"
        ),
    )
)

SETTINGS = {
    "empty": "",
    "only white space": "\n\n",
    "only a byte order mark": "\ufeff",
    "nothing in it": "{}",
    "nothing in it, on two lines": "{\n}\n",
    "nothing in it, spaced": "{ }",
    "two spaces": '{\n  "model": "opus",\n  "env": {"A": "1"}\n}\n',
    "four spaces": '{\n    "model": "opus"\n}\n',
    "tabs": '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n',
    "no newline at the end": '{\n  "model": "opus"\n}',
    "one line": '{"model": "opus", "hooks": {"Stop": [{"hooks": [' + FOREIGN + "]}]}}",
    "no spaces at all": '{"a":1,"hooks":{"Stop":[]},"permissions":{"deny":["x","y"]}}',
    "windows": '{\r\n  "model": "opus",\r\n  "hooks": {\r\n    "Stop": []\r\n  }\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "odd indentation": '{\n "a":\n     1\n      ,"hooks"  :   {\n "Stop" : [\n  {"hooks" :['
    + FOREIGN
    + "]}\n ]}\n   }\n",
    "foreign hooks": '{\n  "hooks": {\n    "Stop": [\n      {"matcher": "", "hooks": ['
    + FOREIGN
    + "]}\n    ]\n  }\n}\n",
    "braces in texts": '{"a": "} // no comment, \\" {", "b": "[/*"}',
    "a key twice": '{"hooks": {"Stop": [1]}, "hooks": {"Stop": []}}',
    "a deny rule of theirs": '{"permissions": {"deny": ["Bash(rm:*)"], "allow": []}}',
}


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_entries_go_in_and_come_out_without_a_trace(text: str) -> None:
    draft = TextDraft(text)
    names = WANTED.put(draft)
    assert len(names) == 4
    assert WANTED.is_complete(draft.text)
    assert without(draft.text, draft.insertions) == text


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_entries_are_found_and_taken_out_without_any_record(text: str) -> None:
    draft = TextDraft(text)
    WANTED.put(draft)
    left = WANTED.take(draft.text, None)
    assert WANTED.names(left) == []
    assert lean(parse(left)) == lean(parse(text))


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_putting_twice_adds_nothing(text: str) -> None:
    draft = TextDraft(text)
    WANTED.put(draft)
    again = TextDraft(draft.text)
    assert WANTED.put(again) == []
    assert again.text == draft.text


COMMENTED = {
    "at the top": '// mine: {"a"\n{\n  "model": "opus" /* best */\n}\n',
    "behind the last": '{\n  "hooks": {\n    "Stop": [], // none, "yet"\n    "Other": [] // nor here\n  } // hooks\n}\n',
    "nothing else": "{ // nothing\n}\n",
    "of several lines": '{"a": "//no", /* one,\n two */ "permissions": {"deny": [ /* x */ "x" // y\n ]}}',
}


@pytest.mark.parametrize("text", COMMENTED.values(), ids=COMMENTED)
def test_where_the_client_reads_comments_each_stays_with_its_line(text: str) -> None:
    wanted = SettingsEntries(WANTED.entries, comments=True)
    draft = TextDraft(text)
    assert len(wanted.put(draft)) == 4
    assert wanted.is_complete(draft.text)
    assert without(draft.text, draft.insertions) == text
    left = wanted.take(draft.text, None)
    assert wanted.names(left) == []
    assert wanted.meaning(left) == wanted.meaning(text)
    assert left.count("//") + left.count("/*") == text.count("//") + text.count("/*"), "a comment went with ours"
    with raises(InvalidJson, "not_json"):
        WANTED.put(TextDraft(text))
    if "// hooks" in text:
        assert "  }, // hooks\n" in draft.text


def test_line_endings_are_those_of_the_file() -> None:
    draft = TextDraft(SETTINGS["windows"])
    WANTED.put(draft)
    assert draft.text.count("\n") == draft.text.count("\r\n") > 20


def test_new_entries_take_the_indentation_of_the_file() -> None:
    draft = TextDraft('{\n    "model": "opus"\n}\n')
    SettingsEntries(WANTED.entries[2:3]).put(draft)
    assert draft.text == (
        '{\n    "model": "opus",\n    "permissions": {\n        "deny": [\n            "Bash(*tacit review*)"\n'
        "        ]\n    }\n}\n"
    )


def test_a_person_s_edit_elsewhere_survives_to_the_byte() -> None:
    before = '{\n  "model": "opus"\n}\n'
    draft = TextDraft(before)
    WANTED.put(draft)
    edited = draft.text.replace('"opus"', '"sonnet"   ')
    assert without(edited, draft.insertions) == before.replace('"opus"', '"sonnet"   ')


def test_a_hook_that_somebody_added_to_our_group_stays() -> None:
    text = '{"hooks": {"Stop": [{"hooks": [{"command": "tacit hook"}, {"command": "mine.sh"}]}]}}'
    left = WANTED.take(text, None)
    assert json.loads(left) == {"hooks": {"Stop": [{"hooks": [{"command": "mine.sh"}]}]}}


def test_only_what_the_record_names_is_taken() -> None:
    text = '{"permissions": {"deny": ["Bash(*tacit review*)"]}, "mcpServers": {"tacit": {"command": "tacit"}}}'
    left = json.loads(WANTED.take(text, ["mcpServers: tacit"]))
    assert left == {"permissions": {"deny": ["Bash(*tacit review*)"]}}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"hooks": []}', "wrong_type"),
        ('{\n"hooks": {"Stop": {}}}', "wrong_type"),
        ("[]", "wrong_type"),
        ('{"mcpServers": {"tacit": {"command": "other"}}}', "not_ours"),
        ('{\n\n"a": }', "not_json"),
        ('{"a": 1 "b": 2}', "not_json"),
        ("{} {}", "not_json"),
        ("[" * 100_000, "not_json"),
        ('{"a": [1,]}', "not_json"),
        ("{} // a comment, which makes clients ignore the file", "not_json"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(text: str, code: str) -> None:
    with raises(Mistake, code):
        WANTED.put(TextDraft(text))


def test_the_line_of_an_error_is_named() -> None:
    with pytest.raises(InvalidJson, match="line 3"):
        parse('{\n\n"a": }')


BLANKS = st.sampled_from(["", " ", "\n", "\r\n", "\t", "\n    "])
SCALARS = st.one_of(
    st.integers(), st.booleans(), st.none(), st.text(max_size=8), st.floats(allow_nan=False, allow_infinity=False)
)
KEYS = st.one_of(st.sampled_from(["hooks", "Stop", "permissions", "deny", "a", "b"]), st.text(max_size=4))


@st.composite
def documents(draw: st.DrawFn, depth: int = 3) -> str:
    """An object in JSON with any white space."""
    return draw(BLANKS) + draw(values(depth, kind="object")) + draw(BLANKS)


@st.composite
def values(draw: st.DrawFn, depth: int, kind: str = "") -> str:
    kind = kind or draw(st.sampled_from(["object", "array", "scalar"] if depth else ["scalar"]))
    if kind == "scalar":
        return json.dumps(draw(SCALARS), ensure_ascii=draw(st.booleans()))
    parts = []
    names: list[str] = draw(st.lists(KEYS, max_size=3, unique=True))
    for name in names:
        key = f"{json.dumps(name)}{draw(BLANKS)}:{draw(BLANKS)}" if kind == "object" else ""
        inner = "array" if name in {"Stop", "deny"} else "object" if name in {"hooks", "permissions"} else ""
        parts.append(draw(BLANKS) + key + draw(values(depth - 1, kind=inner if depth > 1 else "")) + draw(BLANKS))
    opening, closing = "{}" if kind == "object" else "[]"
    return opening + ",".join(parts) + draw(BLANKS) + closing


@settings(max_examples=80)
@given(documents())
def test_any_document_comes_back_to_the_byte(text: str) -> None:
    draft = TextDraft(text)
    try:
        WANTED.put(draft)
    except Mistake:
        assert parse(text) is not None  # it is JSON, only with something else in our place
        return
    assert WANTED.is_complete(draft.text)
    assert without(draft.text, draft.insertions) == text
    left = WANTED.take(draft.text, None)
    assert WANTED.names(left) == []
    assert lean(parse(left)) == lean(parse(text))


@settings(max_examples=100)
@given(st.text(alphabet='{}[]":,/*ab1 \n\\', max_size=40))
def test_no_text_breaks_the_editor(text: str) -> None:
    with suppress(Mistake):
        WANTED.put(TextDraft(text))


@settings(max_examples=100)
@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 60), st.text(min_size=1, max_size=5)), max_size=6))
def test_a_draft_remembers_all_that_was_put_in(text: str, insertions: list[tuple[int, str]]) -> None:
    draft = TextDraft(text)
    for at, inserted in insertions:
        draft.insert(min(at, len(draft.text)), inserted)
    assert without(draft.text, draft.insertions) == text


POLICY = MarkedBlock("Ask Tacit.\n\nSecond paragraph.")
SERVER = TomlTable(("mcp_servers", "tacit"), ('command = "/opt/tacit"', 'args = ["mcp"]'))
PROSE = {
    "empty": "",
    "a page": "# Rules\n\nBe kind.\n",
    "no newline": "# Rules",
    "windows": "# Rules\r\n\r\nBe kind.\r\n",
    "blank lines at the end": "# Rules\n\n\n",
}
TOML = {
    "empty": "",
    "keys": 'model = "x" # mine\n\n[a]\nb = 1\n',
    "no newline": "[a]\nb = 1",
    "windows": "[a]\r\nb = 1\r\n",
    "other servers": '[mcp_servers.other]\ncommand = "x"\n',
}


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE)
def test_a_block_goes_in_and_comes_out_without_a_trace(text: str) -> None:
    draft = TextDraft(text)
    POLICY.put(draft)
    assert POLICY.is_complete(draft.text)
    assert draft.text.startswith(text)
    assert without(draft.text, draft.insertions) == text
    assert POLICY.take(draft.text, None).rstrip() == text.rstrip()


def test_what_was_written_behind_a_block_stays() -> None:
    draft = TextDraft("# Rules\n")
    POLICY.put(draft)
    grown = draft.text + "\nMore rules.\n"
    assert without(grown, draft.insertions) == "# Rules\n\nMore rules.\n"
    assert POLICY.take(grown, None) == "# Rules\n\nMore rules.\n"


def test_an_older_block_is_recognised() -> None:
    draft = TextDraft("# Rules\n")
    MarkedBlock("Older words.").put(draft)
    assert not POLICY.is_complete(draft.text)
    assert POLICY.names(draft.text) == ["block"]
    assert POLICY.take(draft.text, None) == "# Rules\n"


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_a_table_goes_in_and_comes_out_without_a_trace(text: str) -> None:
    draft = TextDraft(text)
    SERVER.put(draft)
    assert SERVER.is_complete(draft.text)
    assert without(draft.text, draft.insertions) == text
    assert SERVER.take(draft.text, None).rstrip() == text.rstrip()


def test_tables_that_a_program_added_behind_ours_stay() -> None:
    draft = TextDraft('model = "x"\n')
    SERVER.put(draft)
    grown = (
        draft.text
        + 'startup_timeout_sec = 9\n[mcp_servers.tacit.env]\nA = "1"\n\n[projects."/p"]\ntrust_level = "trusted"\n'
    )
    left = SERVER.take(grown, None)
    assert left == 'model = "x"\n\n[projects."/p"]\ntrust_level = "trusted"\n'


def test_a_server_of_that_name_that_is_not_ours_is_left_alone() -> None:
    theirs = '[mcp_servers.tacit]\ncommand = "/bin/other"\n'
    with raises(Mistake, "not_ours"):
        SERVER.put(TextDraft(theirs))


def test_a_table_that_cannot_be_added_is_told() -> None:
    with raises(Mistake, "not_toml"):
        SERVER.put(TextDraft('mcp_servers = {other = {command = "x"}}\n'))


def test_broken_toml_is_told_with_its_line() -> None:
    with raises(Mistake, "not_toml"):
        SERVER.put(TextDraft("a = 1\nb = = 2\n"))


def test_a_file_of_ours_never_replaces_one_of_theirs() -> None:
    with raises(Mistake, "not_ours"):
        WholeFile("Written by `tacit init`").put(TextDraft("a skill of mine"))


def lean(value: Any) -> Any:
    """The value without what is empty."""
    if isinstance(value, dict):
        return {key: kept for key, each in value.items() if (kept := lean(each)) not in ({}, [])}
    return [lean(each) for each in value] if isinstance(value, list) else value
