"""Expect an error by its code: `with raises(Mistake, "no_project"): …`. The wording of a message is not tested."""

from __future__ import annotations

from typing import TypeVar

import pytest

from tacit.domain.errors import InvalidSkill, TacitError

E = TypeVar("E", bound=TacitError)


def raises(error: type[E], code: str) -> pytest.RaisesExc[E]:
    """Like `pytest.raises`, and the error must have this code."""
    return pytest.raises(error, check=lambda caught: caught.code == code)


def raises_errno(number: int) -> pytest.RaisesExc[OSError]:
    """Expect an error of the operating system by its number, `errno.ELOOP`."""
    return pytest.raises(OSError, check=lambda caught: caught.errno == number)


def raises_rule(rule: str) -> pytest.RaisesExc[InvalidSkill]:
    """Expect an `InvalidSkill` whose first problem breaks this rule."""
    return pytest.raises(InvalidSkill, check=lambda caught: caught.rules[:1] == (rule,))
