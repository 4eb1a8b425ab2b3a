"""Every error Tacit raises on purpose, as one tree. A bug is none of these: it propagates.

::

    TacitError                    code, message, hint, retryable
      Mistake                     the caller's input                   exit 2
        ConfigError               a setting is unknown or malformed
        InvalidSkill              a SKILL.md breaks the format; all problems listed
        InvalidTrajectory         a log cannot be read; names file and line
        NotFound                  no such skill, version, use or file
      Refusal                     the rules say no; not a fault        exit 3
        GateRefusal               the gate does not admit this candidate
        IllegalTransition         the lifecycle has no such step
        StaleVersion              the content changed since it was reviewed
        NotPermitted              this surface or caller may not do that
        OverBudget                a call to a language model might pass a limit
      Outage                      the world outside failed             exit 4
        ModelOutage               a language model did not answer
        StoreOutage               the store is locked, full, damaged or too new
        VerifierOutage            a check could not be run; that is no evidence
        SandboxOutage             there is no sandbox to run something in, so it was not run
"""

from __future__ import annotations

import re


class TacitError(Exception):
    """Root of all deliberate errors: a code for programs, what happened, what to do next, whether a retry may help.

    The code of an error is the name of its class (`not_found`) unless the raiser gives a more exact one (`store_locked`).
    """

    exit_code = 1

    def __init__(self, message: str, *, code: str = "", hint: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code or re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()
        self.message = message
        self.hint = hint
        self.retryable = retryable


class Mistake(TacitError):
    """The caller's input is wrong; the caller can correct it."""

    exit_code = 2


class ConfigError(Mistake):
    """A setting is unknown, malformed or contradicts another one."""


class InvalidSkill(Mistake):
    """A SKILL.md breaks the format. Carries every problem found, not only the first."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        problems: tuple[str, ...] = (),
        rules: tuple[str, ...] = (),
        hint: str = "",
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.problems = problems
        self.rules = rules
        """The rule that each of the problems breaks, in the same order."""


class InvalidTrajectory(Mistake):
    """An agent's log, or a part of it, cannot be read. The message names file and line."""


class NotFound(Mistake):
    """Nothing has that id, name or path."""


class Refusal(TacitError):
    """The rules say no. Nothing is broken, and trying again does not help."""

    exit_code = 3


class GateRefusal(Refusal):
    """The gate does not admit this candidate; the message gives its findings."""


class IllegalTransition(Refusal):
    """The lifecycle table has no step from the present status to the one asked for."""


class StaleVersion(Refusal):
    """What was reviewed is no longer what is stored: look again before deciding."""


class NotPermitted(Refusal):
    """The caller, or the surface it came through, may not do this."""


class OverBudget(Refusal):
    """The next call to a language model might pass a limit on calls, tokens or money, so it is not made."""


class Outage(TacitError):
    """Something outside Tacit failed. State is unchanged."""

    exit_code = 4


class ModelOutage(Outage):
    """The language model did not answer, or not in the agreed form."""


class StoreOutage(Outage):
    """The store is locked, full, damaged, or written by a newer version."""


class VerifierOutage(Outage):
    """A check could not be run. That is no evidence, neither for nor against."""


class SandboxOutage(Outage):
    """Nothing here can confine a command as asked, so it was not run at all."""
