"""Transcripts that clients left on this machine → captured, each from where it was last read.

Shared by the command line and the learner behind the hooks. Which file belongs to which project is decided here; what
a transcript says is the readers' business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from tacit.api import Tacit
from tacit.config.environment import UserEnvironment
from tacit.config.location import project_root
from tacit.domain.bookmark import Bookmark, Mark
from tacit.domain.errors import InvalidTrajectory
from tacit.evidence.capture import Captured
from tacit.ingest.discovery import Following, Transcript, transcript

OnProblem = Callable[[InvalidTrajectory], None]


def homes(environment: UserEnvironment, clients: Iterable[str] = ()) -> dict[str, Path]:
    """Where each client keeps what it writes for this person; all clients if none is named."""
    known = {"claude-code": environment.claude_home, "codex": environment.codex_home}
    return {client: home for client, home in known.items() if not clients or client in clients}


def project_of(found: Transcript) -> Path | None:
    """The project that a session worked in: its repository, or its folder; nothing if that is gone."""
    return _project(found.workspace)


@cache
def _project(workspace: str) -> Path | None:
    folder = Path(workspace)
    if not workspace or not folder.is_absolute():
        return None
    root = Path(project_root(workspace))
    return root if root.is_dir() else None


def take_in(loop: Tacit, path: Path, *, on_problem: OnProblem | None = None) -> Captured | None:
    """Capture what is new in one transcript, and note how far it was read; nothing if it has not changed.

    The attempt at the end may go on, so it is read again next time; a longer capture then supersedes this one.
    """
    found = transcript(path)
    if found is None:
        return None
    key = str(path.resolve())
    before = loop.store.bookmark(key)
    if before and (before.size, before.modified_ns) == (found.size, found.modified_ns):
        return None
    start = before.mark if before and before.size <= found.size else None
    attempts = Following(path, start=start, on_problem=on_problem or _passed_over)
    captured = loop.capture(attempts)
    mark = attempts.mark or Mark()
    loop.store.keep_bookmark(Bookmark(path=key, size=found.size, modified_ns=found.modified_ns, mark=mark))
    return captured


def together(parts: Iterable[Captured]) -> Captured:
    """Sum up several captures."""
    added: list[str] = []
    known = vouched = excluded = purged = 0
    redacted: Counter[str] = Counter()
    for part in parts:
        added += part.added
        known += part.known
        vouched += part.vouched
        excluded += part.excluded
        purged += part.purged
        redacted.update(part.redacted)
    counts = {"known": known, "vouched": vouched, "excluded": excluded, "purged": purged}
    return Captured(added=tuple(added), redacted=dict(redacted), **counts)


def _passed_over(problem: InvalidTrajectory) -> None:
    """A part that cannot be read is left out; whoever wants to tell somebody passes a function of their own."""
