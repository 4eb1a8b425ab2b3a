"""The hooks' log: one line per fault, in the person's home. Bounded, and never a word of what an agent or person wrote.

A hook cannot report faults anywhere else: the agent must not see them. `tacit doctor` shows these lines.
"""

from __future__ import annotations

import os
import time

NAME = "hook.log"
MAX_BYTES = 128 * 1024
"""Beyond this the file becomes `hook.log.1` and a new one begins."""


def fault(home: str, error: BaseException, *, during: str) -> None:
    """Note a fault by its kind and the place it was raised, not by its message, which may quote the event."""
    note(home, f"{during}: {describe(error)}")


def note(home: str, text: str) -> None:
    """Append one line. A log that cannot be written is ignored: a hook must not fail because of it."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(text.split())[:300]}\n"
    path = os.path.join(home, NAME)
    try:
        os.makedirs(home, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > MAX_BYTES:
            os.replace(path, f"{path}.1")
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            os.write(file, line.encode("utf-8", "replace"))
        finally:
            os.close(file)
    except OSError:
        return


def recent(home: str, limit: int = 20) -> list[str]:
    """The last lines, oldest first."""
    lines: list[str] = []
    for path in (f"{os.path.join(home, NAME)}.1", os.path.join(home, NAME)):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines += file.read(2 * MAX_BYTES).splitlines()
        except OSError:
            continue
    return lines[-limit:]


def describe(error: BaseException) -> str:
    """The kind of a fault and where it was raised; of the system's refusals also what the system calls them."""
    text = type(error).__name__
    if isinstance(error, OSError) and error.errno:
        text += f" ({os.strerror(error.errno)})"
    elif type(error).__module__.startswith("tacit.surfaces.hook"):
        text += f" ({error})"  # our own messages, which quote nothing
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is not None:
        text += f" at {os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}"
    return text
