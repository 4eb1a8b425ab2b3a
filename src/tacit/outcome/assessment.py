"""Trajectory → Assessment: did it succeed, and who says so?

Machine-verified success needs a check (tests, build, linter) that ran after the last change, ended with exit status 0
that nothing could mask, and that the agent did not rewrite on the way. A check that failed last is a verified failure.
All else is unknown. An outcome written in an imported document counts only if the importing person trusts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.trajectory import Step, StepResult, Trajectory
from tacit.text.shell import is_check, masks_exit

SHELL_TOOLS = frozenset({"Bash", "bash", "shell", "exec_command", "run_shell_command", "execute_bash", "terminal"})
EDIT_TOOLS = frozenset(
    {"Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch", "write_file", "replace", "str_replace"}
)

_GUARDED = re.compile(
    r"(^|/)(tests?|specs?|__tests__)(/|$)|(^|/)(test_[^/]*|[^/]*_test|[^/]*[.-](test|spec))\.\w+$|(^|/)conftest\.py$"
    r"|(^|/)(pytest\.ini|tox\.ini|noxfile\.py|setup\.cfg|pyproject\.toml|package\.json|Makefile|makefile|justfile"
    r"|jest\.config\.\w+|vitest\.config\.\w+|\.eslintrc[^/]*|eslint\.config\.\w+|tsconfig[^/]*\.json|mypy\.ini|ruff\.toml"
    r"|\.pre-commit-config\.yaml|Cargo\.toml|build\.gradle[^/]*|pom\.xml)$|(^|/)\.github/workflows/"
)
"""Files that decide what a check means. An agent that touched one of them has not been checked by somebody else."""

_SHELL_CHANGE = re.compile(
    r"(^|[\s;&|(])(sed\s+(-\w+\s+)*-\w*i|tee|cp|mv|rm|touch|truncate|patch|install|ln|dd|git\s+(checkout|restore|reset|apply|stash"
    r"|revert|merge|pull|rebase|cherry-pick))\b|>{1,2}\s*[^\s&|>]|\bopen\([^)]*['\"][wax]"
)


def assess(trajectory: Trajectory, *, trust_claim: bool = False) -> Assessment:
    """Say how the attempt ended, as far as anything but the agent's word shows it."""
    claimed = _claimed(trajectory, trusted=trust_claim)
    if claimed and claimed.grade is Grade.MACHINE:
        return claimed
    seen = _seen(trajectory)
    return seen if seen.outcome is not Outcome.UNKNOWN or not claimed else claimed


def _claimed(trajectory: Trajectory, *, trusted: bool) -> Assessment | None:
    claim = trajectory.claim
    if claim is None or claim.result not in set(Outcome) - {Outcome.UNKNOWN}:
        return None
    if trusted and claim.verified_by:
        return Assessment(
            outcome=Outcome(claim.result),
            grade=Grade.MACHINE,
            verifier=claim.verified_by,
            reason=f"the source says {claim.result}, verified by {claim.verified_by}, and the importer trusts it",
        )
    why = "the importer did not vouch for it" if claim.verified_by else "it names no verifier"
    return Assessment(
        outcome=Outcome(claim.result), grade=Grade.SELF, reason=f"the source claims {claim.result}; {why}"
    )


def _seen(trajectory: Trajectory) -> Assessment:
    """What the steps themselves show."""
    checks = [step for step in trajectory.actions if _is_check(step)]
    if not checks:
        return Assessment(reason="no test, build or linter was run")
    last = checks[-1]
    command = _command(last)
    if last.failed:
        reason = f"`{_short(command)}` was the last check and it failed"
        if last.result is not StepResult.FAILED:
            return Assessment(reason=f"the last check was {last.result}", step=last.index)
        return Assessment(
            outcome=Outcome.FAILURE, grade=Grade.MACHINE, verifier=command, reason=reason, step=last.index
        )
    changed_later = next((s for s in trajectory.actions if s.index > last.index and _changes_files(s)), None)
    if changed_later is not None:
        return Assessment(reason=f"something was changed after the last check (step {changed_later.index})")
    if last.result is not StepResult.OK or masks_exit(command):
        return Assessment(reason=f"the exit status of `{_short(command)}` proves nothing", step=last.index)
    weakened = next(_weakened(trajectory), None)
    if weakened:
        return Assessment(reason=f"the agent changed `{weakened}`, which decides what the check means", step=last.index)
    reason = f"`{_short(command)}` passed after the last change"
    return Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE, verifier=command, reason=reason, step=last.index)


def _command(step: Step) -> str:
    value = step.arguments.get("command", step.arguments.get("cmd", ""))
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _is_check(step: Step) -> bool:
    return step.tool in SHELL_TOOLS and is_check(_command(step))


def _changes_files(step: Step) -> bool:
    if step.tool in EDIT_TOOLS:
        return not step.failed
    return step.tool in SHELL_TOOLS and not _is_check(step) and bool(_SHELL_CHANGE.search(_command(step)))


def _weakened(trajectory: Trajectory) -> Iterator[str]:
    """Files the agent wrote that a check depends on."""
    for step in trajectory.actions:
        if not _changes_files(step):
            continue
        if step.tool in SHELL_TOOLS:
            words = re.split(r"[\s'\"()=;&|<>]+", _command(step))
        else:
            words = [str(step.arguments.get(key, "")) for key in ("file_path", "path", "notebook_path")]
            words += re.findall(
                r"\*\*\* \w+ File: (\S+)", str(step.arguments.get("input", step.arguments.get("patch", "")))
            )
        yield from (word for word in words if _GUARDED.search(_inside(word, trajectory.environment.workspace)))


def _inside(path: str, workspace: str) -> str:
    """The path seen from the workspace, so that a workspace below a folder named `test` is not itself suspicious."""
    return path.removeprefix(workspace.rstrip("/") + "/") if workspace else path


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 80 else line[:77] + "..."
