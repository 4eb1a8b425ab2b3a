"""Revalidation: is a skill still valid here? Compares what it relies on with what was found before, and runs its steps again.

What a usable skill relies on is recorded when it is first examined, and compared with what is found later. Steps are
run again only where they are commands with a check, on a copy, in the sandbox; a skill that cannot be run is "not
checkable here", which counts neither for nor against it.

To see what is there nothing of the project's own is run: a version is asked only of well-known programs of the system itself,
in an empty folder, without the caller's variables and with a time limit.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path, PurePosixPath

from tacit.domain.care import BY_ITSELF, Advice, Care, CareKind, CareReason
from tacit.domain.errors import Mistake, VerifierOutage
from tacit.domain.evidence import Evidence, Outcome
from tacit.domain.identity import canonical, digest
from tacit.domain.ledger import About, Remark
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, coded, joined_text
from tacit.domain.ports import Check
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.evidence.replay import NOT_CHECKABLE_HERE, Replay
from tacit.maintain.composition import is_heading
from tacit.maintain.status_changes import Progress, care_of
from tacit.store import Store
from tacit.store.encoding import unpack
from tacit.store.queries import newest_recallable
from tacit.text.shell import Command, parse_command, shell_text
from tacit.text.tool_calls import is_shell


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a skill takes for granted."""

    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Paths below the project."""
    targets: tuple[str, ...] = ()
    """Targets that a file of the project defines: `make release`, `npm run build`."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not (self.programs or self.files or self.targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRequirements:
    """The requirements that were found; what is missing is not in it. Stored as the text of a remark."""

    programs: Mapping[str, str] = field(default_factory=dict)
    """Name → version, empty where the program does not report one."""
    files: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


TIMEOUT_S = 5.0
LARGEST = 1 << 20
TELL_VERSIONS = frozenset(
    "git python python3 node npm pnpm yarn bun pip uv poetry cargo rustc go java javac mvn gradle docker kubectl helm "
    "terraform make cmake ruby bundle php composer dotnet deno psql sqlite3 gcc clang".split()
)
_PLAIN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_VERSION = re.compile(r"\d+(?:\.\d+){0,3}")
_OWN_FLAG = {
    "go": ("version",),
    "kubectl": ("version", "--client"),
    "java": ("-version",),
    "helm": ("version", "--short"),
}
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MAKE_TARGET = re.compile(r"^([\w][\w./ -]*?)\s*::?(?!=)", re.MULTILINE)
_RECIPE = re.compile(r"^@?([\w][\w-]*)(?:\s+[^:\n]*)?:(?!=)", re.MULTILINE)
_TASK = re.compile(r"^  ([\w][\w:-]*):\s*$", re.MULTILINE)


def look(relied: Requirements, project: Path) -> FoundRequirements:
    """Find what is there of all that is relied on."""
    places = {name: found for name in relied.programs if (found := shutil.which(name))}
    return FoundRequirements(
        programs={name: _version(name, Path(place), project) for name, place in places.items()},
        files=tuple(path for path in relied.files if _is_below(project / path, project)),
        targets=tuple(goal for goal in relied.targets if goal in _defined(project, goal)),
    )


def _is_below(path: Path, project: Path) -> bool:
    try:
        return path.exists() and path.resolve().is_relative_to(project.resolve())
    except OSError:
        return False


@cache  # many skills rely on the same few programs
def _version(name: str, place: Path, project: Path) -> str:
    real = place.resolve()
    if name not in TELL_VERSIONS or real.is_relative_to(project.resolve()) or not real.is_relative_to("/usr"):
        return ""
    flags = _OWN_FLAG.get(name, ("--version",))
    with tempfile.TemporaryDirectory(prefix="tacit-look-") as nowhere:
        try:
            done = subprocess.run(
                [str(real), *flags], cwd=nowhere, env=_PLAIN, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                stdin=subprocess.DEVNULL, errors="replace",
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return ""
    found = _VERSION.search(done.stdout or done.stderr) if done.returncode == 0 else None
    return found[0] if found else ""


def _defined(project: Path, goal: str) -> set[str]:
    """The goals that the project's files define for the program of this one."""
    program = goal.split(maxsplit=1)[0]
    if program in ("npm", "pnpm", "yarn", "bun"):
        try:
            package = json.loads(_text(project / "package.json") or "{}")
        except (ValueError, RecursionError):
            return set()
        scripts = package.get("scripts") if isinstance(package, dict) else None
        return {f"{program} run {name}" for name in scripts} if isinstance(scripts, dict) else set()
    files, pattern = {
        "just": (("justfile", "Justfile", ".justfile"), _RECIPE),
        "task": (("Taskfile.yml", "Taskfile.yaml"), _TASK),
    }.get(program, (_MAKEFILES, _MAKE_TARGET))
    text = next(filter(None, (_text(project / name) for name in files)), "")
    return {f"{program} {word}" for names in pattern.findall(text) for word in names.split()}


def _text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


MOST_REQUIREMENTS = 40
_DETAIL_MAX = 200
_RUNNABLE = frozenset({*RECALLABLE, Status.STALE})
_BUILT_IN = frozenset(
    "cd echo printf export set unset source . : true false test [ [[ exit return read eval exec alias type wait trap umask "
    "pwd if then else fi for do done while case esac function local shift ulimit".split()
)
_FILE_ARGUMENTS = ("file_path", "path", "notebook_path", "filename", "file")
_QUOTED = re.compile(r"`([^`\n]{2,200})`")
_IS_PATH = re.compile(
    r"(?:[\w.@-]+/)*[\w.@-]*\w\.[A-Za-z][A-Za-z0-9]{0,9}|(?:[\w.@-]+/)+[\w.@-]+/?|Makefile|Dockerfile|justfile"
)
_NOT_LITERAL = re.compile(r"[{}$*?<>|~]|\.\./|^/|^\w+:")
_MAKES = frozenset({"make", "gmake", "just", "task"})
_SCRIPT_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_BREAKING = frozenset({CareReason.FILE_MISSING, CareReason.TARGET_MISSING})
"""Without these the skill cannot be followed any more; a missing program may be missing on this machine only."""
_TARGET = re.compile(r"[\w][\w.:/-]*")

Look = Callable[[Requirements, Path], FoundRequirements]
Attempt = Callable[[SkillContent, Path], Check]


# --- contracts --------------------------------------------------------------------------------------------------------


def record_dependencies(store: Store, project: Path, look: Look, *, at: datetime) -> int:
    """Record what usable skills rely on, for those that have no record yet; return how many were recorded.

    A version relies on the files and targets that the versions it was made of had, even where they are missing by now.
    """
    known = {remark.subject: remark.text for remark in store.remarks(about=About.CONTRACT)}
    found: dict[str, FoundRequirements] = {}
    for version in (stored.version for stored in store.catalogue(statuses=RECALLABLE)):
        needs = requirements_of(version.content)
        if version.id in known or needs.is_empty:
            continue
        here = look(needs, project)
        earlier = [unpack(known[each].encode("utf-8"), FoundRequirements) for each in version.parents if each in known]
        found[version.id] = dataclasses.replace(
            here,
            files=tuple(dict.fromkeys((*here.files, *(file for each in earlier for file in each.files)))),
            targets=tuple(dict.fromkeys((*here.targets, *(target for each in earlier for target in each.targets)))),
        )
    with store.transaction():
        for version_id, state in found.items():
            store.add(_contract_remark(version_id, state, at))
    return len(found)


def contracts(store: Store, project: Path | None, look: Look, *, at: datetime) -> Iterator[Care]:
    """Find usable skills whose requirements have changed since they were recorded."""
    if project is None:
        return
    recorded = {remark.subject: remark.text for remark in store.remarks(about=About.CONTRACT)}
    for stored in store.catalogue(statuses=RECALLABLE):
        version, text = stored.version, recorded.get(stored.version.id)
        needs = requirements_of(version.content)
        if needs.is_empty or text is None:
            continue
        before, now = unpack(text.encode("utf-8"), FoundRequirements), look(needs, project)
        if reasons := drift(needs, before, now):
            breaks = any(each.code in _BREAKING for each in reasons)
            move = stored.transition_to(Status.STALE, joined_text(reasons), by=BY_ITSELF, at=at) if breaks else None
            # Lost files stay part of the contract; a changed program becomes the one to compare with.
            remark = _contract_remark(version.id, dataclasses.replace(before, programs=now.programs), at)
            advice = (coded(Advice.EDIT_SKILL, name=version.name),)
            yield care_of(stored, CareKind.CONTRACT, reasons, move=move, remark=remark, advice=advice)


def _contract_remark(version_id: str, state: FoundRequirements, at: datetime) -> Remark:
    text = canonical(state).decode("utf-8")
    return Remark(subject=version_id, about=About.CONTRACT, by=BY_ITSELF, at=at, text=text)


# --- running steps again ----------------------------------------------------------------------------------------------


def replayed(content: SkillContent, project: Path) -> Check:
    """Run a skill's steps on a copy of the project's last commit, in the sandbox of this machine.

    Parameters get their examples as values; the headings of a composite's phases are skipped.
    """
    if not (project / ".git").exists():
        raise VerifierOutage("this project is not a git repository", code="not_checkable", hint="git init, and commit")
    steps = (dataclasses.replace(step, optional=True) if is_heading(step) else step for step in content.steps)
    examples = {each.name: each.example for each in content.parameters if each.example}
    return Replay(dataclasses.replace(content, steps=tuple(steps)), project, examples).verify()


def revalidations(
    store: Store, project: Path, attempt: Attempt, *, at: datetime, progress: Progress | None = None
) -> Iterator[tuple[Care, Evidence | None]]:
    """Run the current version of each usable or stale procedure again, and yield the results one by one.

    A stale version that works again goes back on trial; a failure counts against a version like any other evidence. A
    result that an attempt of the same day already gave is reported, and is no further evidence.
    """
    by_skill: dict[str, list[StoredVersion]] = {}
    for each in store.catalogue(statuses=_RUNNABLE, kinds={Kind.PROCEDURE}):
        by_skill.setdefault(each.skill.id, []).append(each)
    newest_versions = [newest_recallable(versions) for versions in by_skill.values()]
    for done, stored in enumerate(newest_versions, start=1):
        care, evidence = _run_again(stored, project, attempt, at)
        results = store.evidence([evidence.version_id])[evidence.version_id] if evidence else []
        same_day = [each.outcome for each in results if evidence and each.task == evidence.task]
        if evidence and same_day and same_day[-1] is evidence.outcome:
            care, evidence = dataclasses.replace(care, remark=None), None
        yield care, evidence
        if progress:
            progress(done, len(newest_versions))


def _run_again(stored: StoredVersion, project: Path, attempt: Attempt, at: datetime) -> tuple[Care, Evidence | None]:
    version = stored.version
    try:
        check = attempt(version.content, project)
    except (VerifierOutage, Mistake) as outage:  # a mistake: an example that cannot be a value
        reason = coded(CareReason.NOT_CHECKABLE, detail=outage.message.removeprefix(NOT_CHECKABLE_HERE))
        return care_of(stored, CareKind.VALIDATION, (reason,)), None
    detail = check.detail[-_DETAIL_MAX:]
    evidence = Evidence(
        version_id=version.id,
        outcome=Outcome.SUCCESS if check.passed else Outcome.FAILURE,
        grade=check.counts_as,
        at=at,
        verifier=check.verifier,
        by=BY_ITSELF,
        principal=BY_ITSELF,
        task=digest(("replay", version.hash, at.date().isoformat())),
        note=check.doubt or detail,
    )
    move = None
    if check.passed and not check.doubt and stored.status is Status.STALE:
        works_again = coded(CareReason.WORKS_AGAIN, verifier=check.verifier)
        move = stored.transition_to(Status.TRIAL, str(works_again), by=BY_ITSELF, at=at)
    result = coded(CareReason.PASSED) if check.passed else coded(CareReason.FAILED, detail=detail)
    text = result.code if check.passed or not detail else f"{result.code}: {detail}"
    remark = Remark(subject=version.id, about=About.VALIDATION, by=BY_ITSELF, at=at, text=text)
    return care_of(stored, CareKind.VALIDATION, (result,), move=move, remark=remark), evidence


# --- requirements -----------------------------------------------------------------------------------------------------


def requirements_of(content: SkillContent) -> Requirements:
    """Return the programs, files of the project and build targets that the steps and checks of a skill name."""
    texts = [each.check for each in (*content.preconditions, *content.postconditions) if each.check]
    for step in content.steps:
        if is_shell(step.tool):
            texts.append(shell_text(step.arguments))
        elif not step.tool:
            texts += _QUOTED.findall(step.text)
    commands = [command for text in texts for command in parse_command(text)]
    programs = (
        name
        for command in commands
        for name in (command.runner.partition(" ")[0], command.program)
        if _is_program(name, command)
    )
    named = (str(step.arguments[key]) for step in content.steps for key in _FILE_ARGUMENTS if key in step.arguments)
    operands = (word for command in commands for word in (*command.operands, command.typed) if _IS_PATH.fullmatch(word))
    made = {output for command in commands for output in command.outputs}
    files = (path for path in (*named, *operands) if not _NOT_LITERAL.search(path) and path not in made)
    return Requirements(
        programs=_sorted_few(programs),
        files=_sorted_few(str(PurePosixPath(path)) for path in files),
        targets=_sorted_few(target for command in commands for target in _targets(command)),
    )


def drift(needs: Requirements, before: FoundRequirements, now: FoundRequirements) -> list[CodedReason]:
    """Return what was there when it was recorded, and is missing or different now."""
    gone = [path for path in needs.files if path in before.files and path not in now.files]
    lost = [target for target in needs.targets if target in before.targets and target not in now.targets]
    found = [coded(CareReason.FILE_MISSING, path=path) for path in gone]
    found += [coded(CareReason.TARGET_MISSING, target=target) for target in lost]
    for name in needs.programs:
        was, version = before.programs.get(name), now.programs.get(name)
        if was is not None and version is None:
            found.append(coded(CareReason.PROGRAM_MISSING, program=name))
        elif was and version and was.partition(".")[0] != version.partition(".")[0]:
            found.append(coded(CareReason.PROGRAM_CHANGED, program=name, before=was, now=version))
    return found


def _is_program(name: str, command: Command) -> bool:
    """Whether a name is a program to look for: neither built into the shell nor a script that another program runs."""
    is_script = name == command.program and ("/" in command.typed or (command.runner and "." in name))
    return bool(name) and name not in _BUILT_IN and not is_script and not _NOT_LITERAL.search(name) and "/" not in name


def _targets(command: Command) -> Iterator[str]:
    words = [word for word in command.words[1:] if not word.startswith("-") and "=" not in word]
    if command.program in _MAKES:
        yield from (f"{command.program} {word}" for word in words if _TARGET.fullmatch(word))
    elif command.program in _SCRIPT_RUNNERS and words[:1] == ["run"] and len(words) > 1 and _TARGET.fullmatch(words[1]):
        yield f"{command.program} run {words[1]}"


def _sorted_few(items: Iterator[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(items)))[:MOST_REQUIREMENTS]
