"""Names: what the rule says, and a valid name for any text."""

from __future__ import annotations

import pytest

from tacit.render.validation import name_faults, normal_name, skill_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Add a migration", "add-a-migration"),
        ("  Fix: `make test` fails!  ", "fix-make-test-fails"),
        ("Crème brûlée à la Łódź", "creme-brulee-a-la-lodz"),
        ("Straße & Ærø", "strasse-aero"),
        ("ﬁle №5", "file-no5"),
        ("my_skill.v2", "my-skill-v2"),
        ("мой Навык", "мой-навык"),
        ("数据 分析", "数据-分析"),
        ("한국어 기술", "한국어-기술"),
        ("--a--b--", "a-b"),
        ("", "skill"),
        ("!!! \u0301 ---", "skill"),
        ("ABC", "abc"),
        ("İstanbul", "istanbul"),
    ],
)
def test_free_text_becomes_a_readable_name(text: str, name: str) -> None:
    assert skill_name(text) == name


def test_a_long_text_is_cut_between_words() -> None:
    name = skill_name("rebuild the search index after every schema change and then verify that nothing is missing")
    assert name == "rebuild-the-search-index-after-every-schema-change-and-then"
    assert len(name) <= 64


def test_one_long_word_is_cut_hard() -> None:
    assert skill_name("x" * 100) == "x" * 64


def test_every_fault_of_a_name_is_told_with_a_valid_name_to_take() -> None:
    faults = list(name_faults("-My__Skill--" + "x" * 60))
    assert [rule for rule, _, _ in faults] == [
        "name-length", "name-case", "name-edge", "name-hyphens", "name-characters",
    ][: len(faults)]  # fmt: skip
    assert len(faults) == 5
    assert all("'my-skill" in hint for _, _, hint in faults)


def test_names_are_compared_trimmed_and_normalised() -> None:
    assert normal_name(" cafe\u0301 ") == "caf\u00e9"
