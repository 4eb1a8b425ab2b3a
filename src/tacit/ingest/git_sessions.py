"""Sessions that a team keeps in git: transcripts on `entire/checkpoints`, a branch or refs, read from the checkout's objects.

Nothing is checked out, and nothing is fetched. A session is the largest transcript that the checkpoints hold of it. What
other people asked is not the person's own words: the author of the commit that brought the transcript decides.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from tacit.config.checkout import checkout_around, git_folder, plain_git, shared_folder
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.ports import SessionPart, TrajectoryStream
from tacit.domain.trajectory import ASKED_BY_TEAMMATE, Role, Step, Trajectory
from tacit.ingest.log_files import Part, Parts, moment_of, text_of

NAME = "git"
"""What these sessions are called among the clients."""
_REFS = re.compile(r"refs/(?:heads/|remotes/[^/\s]+/)?entire/checkpoints(?:/\S+)?")
_FILE = re.compile(r"(?:(?P<folder>.*)/)?(?P<name>metadata\.json|full\.jsonl|transcript\.jsonl)")
_TRANSCRIPTS = ("full.jsonl", "transcript.jsonl")
_LIMIT_S = 120.0
_CHUNK = 1024 * 1024
_MAX_METADATA = 1024 * 1024


class Checkpoint(msgspec.Struct):
    """What a checkpoint notes about a session."""

    session_id: str = ""
    created_at: Any = None
    agent: Any = None


_checkpoint = msgspec.json.Decoder(Checkpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSession:
    """One session in git."""

    session_id: str
    blob: str
    """The transcript's object."""
    size: int
    created_at: str
    author: str
    email: str
    """Of the commit that brought the transcript."""

    @property
    def part(self) -> SessionPart:
        """The session as a part of the repository: a longer transcript of it is another part."""
        at = moment_of(self.created_at)
        return SessionPart(name=self.blob, size=self.size, modified_ns=int(at.timestamp() * 1e9) if at else 0)


class GitRepository:
    """The checkpoints of one repository."""

    def __init__(self, checkout: Path) -> None:
        """Look at the repository of this checkout, or at a repository without one."""
        git = git_folder(checkout) or (checkout if (checkout / "HEAD").is_file() else None)
        self._git = shared_folder(git) if git else None
        self.checkout = checkout

    def emails(self, home: Path) -> frozenset[str]:
        """Return under which addresses commits of this person are made here, by the settings of git."""
        plain = plain_git(self._git) if self._git else None
        if plain is None:
            return frozenset()
        command, environment = plain
        own = {key: value for key, value in environment.items() if key not in ("HOME", "GIT_CONFIG_GLOBAL")}
        output = self._run([*command, "config", "--get-all", "user.email"], {**own, "HOME": str(home)})
        return frozenset(
            line.strip().casefold() for line in output.decode("utf-8", "replace").splitlines() if line.strip()
        )

    def sessions(self) -> list[GitSession]:
        """Return the sessions, the oldest first; none where the repository keeps none."""
        best: dict[str, GitSession] = {}
        for commit in self._commits():
            files = self._files(commit)
            held = [(folder, names) for folder, names in files.items() if "metadata.json" in names]
            noted = self._contents([names["metadata.json"][0] for _, names in held])
            authors = self._authors(commit) if held else {}
            for (folder, names), data in zip(held, noted, strict=True):
                found = next((names[name] for name in _TRANSCRIPTS if name in names), None)
                session = _session(folder, data, found, authors) if found else None
                known = best.get(session.session_id) if session else None
                if session and (known is None or session.size > known.size):
                    best[session.session_id] = session
        return sorted(best.values(), key=lambda session: (session.created_at, session.session_id))

    def copy(self, blob: str, target: Any) -> None:
        """Write an object's content into an open file, a piece at a time."""
        plain = plain_git(self._git) if self._git else None
        if plain is None or not re.fullmatch(r"[0-9a-f]{40,64}", blob):
            return
        command, environment = plain
        with subprocess.Popen([*command, "cat-file", "blob", blob], env=environment, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            while piece := process.stdout.read(_CHUNK):
                target.write(piece)
        target.flush()

    def _commits(self) -> list[str]:
        """Return what the branches and refs of checkpoints point at; a branch and the same one of a remote are one."""
        output = self._ask("for-each-ref", "--format=%(refname) %(objectname)").decode("utf-8", "replace")
        lines = (line.partition(" ") for line in output.splitlines())
        return list(dict.fromkeys(commit for ref, _, commit in lines if _REFS.fullmatch(ref)))

    def _files(self, commit: str) -> dict[str, dict[str, tuple[str, int]]]:
        """Return the files of checkpoints: folder → name → object and size, of those that are really there."""
        found: dict[str, dict[str, tuple[str, int]]] = {}
        for line in self._ask("ls-tree", "-r", "-l", "-z", commit).decode("utf-8", "replace").split("\0"):
            about, _, path = line.partition("\t")
            words, named = about.split(), _FILE.fullmatch(path)
            if named and len(words) == 4 and words[3].isdigit():
                found.setdefault(named["folder"] or "", {})[named["name"]] = (words[2], int(words[3]))
        return found

    def _authors(self, commit: str) -> dict[str, tuple[str, str]]:
        """Return who last changed each file: path → name and address."""
        found: dict[str, tuple[str, str]] = {}
        author = ("", "")
        output = self._ask("log", "--format=%x01%an%x02%ae", "--name-only", "--no-renames", "-m", commit)
        for line in output.decode("utf-8", "replace").splitlines():
            if line.startswith("\1"):
                name, _, email = line[1:].partition("\2")
                author = (name, email)
            elif line:
                found.setdefault(line, author)
        return found

    def _contents(self, blobs: Sequence[str]) -> list[bytes]:
        answer = (
            self._ask("cat-file", "--batch", stated="".join(f"{blob}\n" for blob in blobs).encode()) if blobs else b""
        )
        found, at = [], 0
        for _ in blobs:
            end = answer.find(b"\n", at)
            words = answer[at:end].split()
            size = int(words[2]) if len(words) == 3 else 0
            found.append(answer[end + 1 : end + 1 + size][:_MAX_METADATA])
            at = end + 2 + size if len(words) == 3 else end + 1
        return found

    def _ask(self, *words: str, stated: bytes = b"") -> bytes:
        plain = plain_git(self._git) if self._git else None
        return self._run([*plain[0], *words], plain[1], stated) if plain else b""

    def _run(self, command: list[str], environment: dict[str, str], stated: bytes = b"") -> bytes:
        try:
            done = subprocess.run(
                command, env=environment, input=stated, capture_output=True, timeout=_LIMIT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return b""
        return done.stdout if done.returncode == 0 else b""


def _session(
    folder: str, data: bytes, found: tuple[str, int], authors: dict[str, tuple[str, str]]
) -> GitSession | None:
    try:
        about = _checkpoint.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    path = f"{folder}/metadata.json" if folder else "metadata.json"
    author, email = authors.get(path, ("", ""))
    if not about.session_id:
        return None
    return GitSession(
        session_id=about.session_id,
        blob=found[0],
        size=found[1],
        created_at=text_of(about.created_at),
        author=author,
        email=email.casefold(),
    )


def sessions_in_git(project: Path, *, home: Path) -> Iterator[tuple[GitSession, str]]:
    """Yield the sessions that the repository around a project keeps, each with the name of its author if that is not the
    person whose home folder this is. Most repositories keep none, which is found out fast."""
    checkout = checkout_around(project)
    repository = GitRepository(checkout) if checkout else None
    found = repository.sessions() if repository else []
    own = repository.emails(home) if repository and found else frozenset()
    for session in found:
        yield session, "" if session.email and session.email in own else session.author or "unknown"


def read_session(checkout: Path, blob: str, read: Callable[[Path], TrajectoryStream], *, author: str = "") -> Parts:
    """Yield the attempts of the transcript in this object; `read` reads a file. An `author` is another person."""
    return Parts(_parts(checkout, blob, read, author))


def _parts(checkout: Path, blob: str, read: Callable[[Path], TrajectoryStream], author: str) -> Iterator[Part]:
    source = f"{checkout.resolve()}#{blob}"
    with tempfile.NamedTemporaryFile(suffix=".jsonl", prefix="tacit-session-") as file:
        GitRepository(checkout).copy(blob, file)
        try:
            stream = read(Path(file.name))
        except InvalidTrajectory as problem:
            yield _renamed(problem, file.name, source)
            return
        while True:
            try:
                attempt = next(stream, None)
            except InvalidTrajectory as problem:
                yield _renamed(problem, file.name, source)
                continue
            if attempt is None:
                return
            attempt = replace(attempt, source=source)
            yield of_teammate(attempt, author) if author else attempt


def _renamed(problem: InvalidTrajectory, name: str, source: str) -> InvalidTrajectory:
    return InvalidTrajectory(problem.message.replace(name, source), code=problem.code, hint=problem.hint)


def of_teammate(attempt: Trajectory, author: str) -> Trajectory:
    """Return an attempt as another person's: what they typed is text from outside, and no word on how it ended."""
    by = attempt.task.by or f"{ASKED_BY_TEAMMATE}{author}"
    return replace(
        attempt, task=replace(attempt.task, by=by), steps=tuple(map(_unspoken, attempt.steps)), reply="", id=""
    )


def _unspoken(step: Step) -> Step:
    return replace(step, role=Role.CONTEXT) if step.role in (Role.USER, Role.SYSTEM) else step
