"""Allowances: categories, patterns, subcommands and folders."""

from __future__ import annotations

import pytest

from tacit.domain.errors import Mistake
from tacit.domain.skill import Capabilities
from tacit.text.capabilities import CATEGORIES, added, beyond, capabilities_text, narrowed, parse_allowance
from tests.raising import raises


@pytest.mark.parametrize(
    ("category", "allowed", "value", "covered"),
    [
        ("hosts", "api.example.com", "api.example.com", True),
        ("hosts", "api.example.com", "API.example.com", True),
        ("hosts", "api.example.com", "api.example.com:8443", True),
        ("hosts", "api.example.com:443", "api.example.com:8443", False),
        ("hosts", "api.example.com", "api.example.com.evil.net", False),
        ("hosts", "example.com", "api.example.com", False),
        ("hosts", "*.example.com", "api.example.com", True),
        ("hosts", "*.example.com", "evilexample.com", False),
        ("hosts", "*", "anything.net", True),
        ("commands", "git", "git", True),
        ("commands", "git", "git push", True),
        ("commands", "git push", "git", False),
        ("commands", "git push", "git pull", False),
        ("commands", "git", "gitk", False),
        ("commands", "npm run", "npm run build", True),
        ("commands", "*", "rm", True),
        ("reads", "/srv/data", "/srv/data/a/b", True),
        ("reads", "/srv/data", "/srv/data", True),
        ("reads", "/srv/data/", "/srv/data/a", True),
        ("reads", "/srv/data", "/srv/database", False),
        ("reads", "/srv/data", "/srv/data/../../etc/passwd", False),
        ("reads", "/srv/*", "/srv/x/../../etc/passwd", False),
        ("reads", "../notes", "../notes/../../etc", False),
        ("reads", "*", "../elsewhere", True),
        ("writes", "/tmp/*", "/tmp/a.txt", True),
        ("writes", "~/.cache", "~/.cache/x", True),
        ("writes", "~/.cache", "~/.ssh/config", False),
        ("secrets", "GITHUB_TOKEN", "GITHUB_TOKEN", True),
        ("secrets", "GITHUB_*", "AWS_SECRET", False),
        ("effects", "sends", "deletes", False),
        ("effects", "deletes", "deletes", True),
    ],
)
def test_an_allowance_covers_what_it_names(category, allowed, value, covered):
    needs, may = Capabilities(**{category: (value,)}), Capabilities(**{category: (allowed,)})
    assert beyond(needs, may) == (Capabilities() if covered else needs)


def test_a_category_that_is_not_named_allows_nothing():
    needs = Capabilities(hosts=("a.net",), commands=("git",))
    assert beyond(needs, Capabilities(commands=("git",))) == Capabilities(hosts=("a.net",))
    assert beyond(needs, Capabilities()) == needs
    assert beyond(Capabilities(), Capabilities()) == Capabilities()


def test_an_allowance_is_read_from_words():
    read = parse_allowance(["hosts=api.example.com, *.example.org", "commands=git", "HOSTS=b.net", "commands=git"])
    assert read == Capabilities(hosts=("api.example.com", "*.example.org", "b.net"), commands=("git",))
    assert parse_allowance(["hosts="]) == parse_allowance([]) == Capabilities()


@pytest.mark.parametrize("text", ["", "hosts", "host=a.net", "=a.net", "network=*"])
def test_an_allowance_that_cannot_be_read_is_a_mistake_that_names_the_categories(text):
    with raises(Mistake, "invalid_allowance") as refused:
        parse_allowance([text])
    assert refused.value.hint.endswith(", ".join(CATEGORIES))


def test_what_was_added_is_reported_word_for_word():
    before, now = Capabilities(hosts=("*.a.net",)), Capabilities(hosts=("*.a.net", "x.a.net"), effects=("sends",))
    assert added(now, before) == Capabilities(hosts=("x.a.net",), effects=("sends",))
    assert added(before, now) == Capabilities()


def test_two_allowances_allow_what_both_do():
    outer, inner = Capabilities(hosts=("*.a.net",), commands=("git",)), Capabilities(hosts=("x.a.net", "y.net"))
    assert narrowed(outer, inner) == Capabilities(hosts=("x.a.net",))
    assert narrowed(inner, outer) == Capabilities(hosts=("x.a.net",))
    assert narrowed(None, inner) == narrowed(inner, None) == inner
    assert narrowed(None, None) is None
    assert narrowed(outer, Capabilities()) == Capabilities()


def test_capabilities_are_reported_in_words():
    assert capabilities_text(Capabilities()) == ""
    many = Capabilities(hosts=tuple("abcde"), effects=("sends",))
    assert capabilities_text(many) == "hosts a, b, c, d and 1 more; effects sends"
