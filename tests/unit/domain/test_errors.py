"""The tree of errors: as drawn, with one exit code per branch."""

from __future__ import annotations

import re

import pytest

from tacit.domain import errors
from tacit.domain.errors import ConfigError, InvalidSkill, Mistake, Outage, Refusal, TacitError


def drawn_tree() -> dict[str, str]:
    """Name of each error in the docstring → name of the one above it."""
    parents: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"( {4,})(\w+) {2,}\S", line)
        if found:
            depth, name = len(found[1]), found[2]
            path = [above for above in path if above[0] < depth]
            parents[name] = path[-1][1] if path else "Exception"
            path.append((depth, name))
    return parents


def real_tree() -> dict[str, str]:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    return {kind.__name__: kind.__bases__[0].__name__ for kind in found}


def test_the_tree_in_the_docstring_is_the_real_one():
    assert drawn_tree() == real_tree()
    assert len(real_tree()) == 17


@pytest.mark.parametrize(("kind", "code"), [(TacitError, 1), (Mistake, 2), (Refusal, 3), (Outage, 4)])
def test_each_branch_has_its_exit_code_and_every_error_inherits_it(kind, code):
    assert kind.exit_code == code
    if kind is not TacitError:
        assert kind.__subclasses__()
    for below in kind.__subclasses__():
        assert below.exit_code == code or kind is TacitError


def test_the_docstring_says_the_exit_codes():
    said = dict(re.findall(r"^ +(\w+) .* exit (\d)$", errors.__doc__ or "", re.MULTILINE))
    assert said == {"Mistake": "2", "Refusal": "3", "Outage": "4"}


def test_an_error_carries_what_happened_what_to_do_and_whether_to_try_again():
    error = ConfigError("it is wrong", hint="mend it", retryable=True)
    assert (str(error), error.message, error.hint, error.retryable) == ("it is wrong", "it is wrong", "mend it", True)
    assert (Outage("x").hint, Outage("x").retryable) == ("", False)


def test_an_invalid_skill_lists_all_its_problems():
    assert InvalidSkill("two problems", problems=("a", "b")).problems == ("a", "b")
