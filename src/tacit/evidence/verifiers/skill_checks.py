"""`Postconditions`: the checks that skills themselves name, run in the workspace → passed if all of them do.

They are those of the very versions that were shown, which nobody can change any more. A skill without such a check, or with one
that needs values nobody gave, cannot be checked here: an outage, not a pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

from tacit.domain.errors import VerifierOutage
from tacit.domain.skill import SkillContent
from tacit.domain.verification import Check
from tacit.evidence.independence.ground import Ground
from tacit.evidence.replay import checks_of, filled
from tacit.evidence.verifiers.command import Command


@dataclass(frozen=True, slots=True)
class Postconditions:
    """The checks of the postconditions of one or more skills."""

    contents: Sequence[SkillContent]
    cwd: Path | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    timeout_s: float = 600.0
    ground: Ground | None = None

    def on(self, ground: Ground) -> Postconditions:
        """The same checks, held against what was there when the skill was given."""
        return self if self.ground else replace(self, ground=ground)

    def verify(self) -> Check:
        """Run each check; the first that fails decides."""
        checks = [filled(content, check, self.parameters) for content in self.contents for check in checks_of(content)]
        if not checks:
            raise VerifierOutage("not checkable here: no skill was given", hint="name the use of a skill")
        found: list[Check] = []
        for check in dict.fromkeys(checks):
            found.append(Command(check, self.cwd, self.timeout_s, ground=self.ground).verify())
            if not found[-1].passed:
                break
        named = "postconditions: " + "; ".join(dict.fromkeys(checks))
        doubt = next((one.doubt for one in found if one.doubt), "")
        return Check(passed=found[-1].passed, verifier=named, detail=found[-1].detail, doubt=doubt)


def own_checks(contents: Sequence[SkillContent]) -> set[str]:
    """The commands that skills name themselves."""
    return {condition.check for content in contents for condition in content.postconditions if condition.check.strip()}


def is_own(command: str, contents: Sequence[SkillContent]) -> bool:
    """Whether a command is a skill's own check, with values in place of its parameters at most."""
    for content in contents:
        for check in own_checks([content]):
            pattern = re.escape(check)
            for parameter in content.parameters:
                pattern = pattern.replace(re.escape(f"{{{parameter.name}}}"), r"[\w@%+=:,./-]+")
            if re.fullmatch(pattern, command):
                return True
    return False
