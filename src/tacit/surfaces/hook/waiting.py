"""What waits for the person, in one line of a file that the background learner writes: `.tacit/waiting`.

The hook of a starting session shows it to the person, not to the agent, at most once a day; a shell prompt may show it too
(`cat .tacit/waiting`). Only the two counts are read back, since anybody who can write to the project can write the file.
"""

from __future__ import annotations

import contextlib
import os
import re

NAME = "waiting"
LAST_SHOWN = "waiting-told"
"""Its time of change is when the person last saw the line."""
DAY_S = 86_400
_LINE = re.compile(r"(\d{1,6}) to review, (\d{1,6}) suggestions?\n")


def write(folder: str, versions: int, suggestions: int) -> None:
    """Note how many versions wait for review and how many suggestions there are; no file where there are none."""
    path = os.path.join(folder, NAME)
    if not versions and not suggestions:
        remove(folder)
        return
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
        file.write(f"{versions} to review, {suggestions} suggestion{'s' * (suggestions != 1)}\n")
    os.replace(f"{path}.{os.getpid()}", path)


def remove(folder: str) -> None:
    """Forget what waited, as after a review; what waits anew on the same day is told on the next."""
    with contextlib.suppress(OSError):
        os.remove(os.path.join(folder, NAME))


def read(folder: str) -> tuple[int, int]:
    """Return how many versions wait for review, and how many suggestions there are."""
    try:
        with open(os.path.join(folder, NAME), encoding="utf-8", errors="replace") as file:
            found = _LINE.fullmatch(file.read(100))
    except OSError:
        return 0, 0
    return (int(found[1]), int(found[2])) if found else (0, 0)


def tell(folder: str, *, now: float) -> str:
    """Return a line for the person, and note that they were told; empty where nothing waits or they were told today."""
    versions, suggestions = read(folder)
    if not versions and not suggestions:
        return ""
    stamp = os.path.join(folder, LAST_SHOWN)
    try:
        if now - os.stat(stamp).st_mtime < DAY_S:
            return ""
    except OSError:
        pass  # never told
    try:
        os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600))
        os.utime(stamp, (now, now))
    except OSError:
        return ""  # it would be told at every session
    parts = [f"{versions} learned from your sessions wait{'s' * (versions == 1)} for your review"] if versions else []
    if suggestions:
        parts.append(f"{suggestions} suggestion{'s' * (suggestions != 1)} for your library")
    return f"Tacit: {', '.join(parts)}. Run: tacit review"
