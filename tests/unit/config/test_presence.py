"""Whether somebody can be typing, as the processes around a terminal show it; the table of processes is made for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.config.presence import Presence

AGENTS, PROGRAMS = {"CLAUDECODE"}, {"claude"}
Row = tuple[int, str, int, int] | tuple[int, str, int, int, int, int]
"""Number, name, parent and session of a process; where it matters, its group and its session's terminal."""


def table(folder: Path, *rows: Row, environ: dict[int, bytes] | None = None) -> Path:
    for number, name, parent, session, *rest in rows:
        group, terminal = rest or (number, 0)
        own = folder / str(number)
        own.mkdir()
        (own / "stat").write_text(f"{number} ({name}) S {parent} {group} {session} {terminal}\n")
        (own / "environ").write_bytes((environ or {}).get(number, b""))
        (own / "cmdline").write_bytes(name.encode() + b"\0")
        (own / "fd").mkdir()
        (own / "fdinfo").mkdir()
    return folder


def hold(folder: Path, number: int, terminal: int) -> None:
    """Let a process hold the other end of a pseudo-terminal."""
    (folder / str(number) / "fd" / "7").symlink_to("/dev/ptmx")
    (folder / str(number) / "fdinfo" / "7").write_text(f"pos:\t0\ntty-index:\t{terminal}\n")


def doubt(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, own: int = 50, terminal: int = 3, background: str = ""
) -> str:
    monkeypatch.setattr("tacit.config.presence._background", lambda: background)
    monkeypatch.setattr("tacit.config.presence._terminal", lambda: terminal)
    return Presence(folder, own=own).doubt(AGENTS, PROGRAMS)


PEOPLE: dict[str, tuple[Row, ...]] = {
    "a terminal window": (
        (10, "systemd", 1, 10),
        (20, "gnome-terminal-", 10, 20),
        (40, "bash", 20, 40),
        (50, "tacit", 40, 40),
    ),
    "a window left by its shell": ((20, "xterm", 1, 9), (40, "bash", 20, 40), (50, "tacit", 40, 40)),
    "another machine": ((20, "sshd", 1, 20), (30, "sshd", 20, 20), (40, "bash", 30, 40), (50, "tacit", 40, 40)),
    "a container": ((40, "bash", 0, 40), (50, "tacit", 40, 40)),
    "a container whose shell is the first process": ((50, "tacit", 1, 1, 50, 34816),),
    "a terminal opened in such a container": ((20, "script", 1, 1, 20, 34816), (50, "tacit", 20, 50)),
    "a script that such a container runs": ((20, "script", 1, 1, 1, 34816), (50, "tacit", 20, 50)),
    "a script of one's own": (
        (20, "sshd", 1, 20),
        (40, "bash", 20, 40),
        (45, "python3.11", 40, 40),
        (50, "tacit", 45, 40),
    ),
    "an editor's server": ((15, "sh", 1, 15), (20, "node", 15, 15), (40, "bash", 20, 40), (50, "tacit", 40, 40)),
    "a session led from outside": ((40, "bash", 0, 0), (50, "tacit", 40, 0)),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_is_not_doubted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = table(tmp_path, *PEOPLE[name])
    if (folder / "20").exists():
        hold(folder, 20, 3)
    assert doubt(folder, monkeypatch) == ""


def test_a_process_in_the_background_is_doubted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doubt(table(tmp_path), monkeypatch, background="it is behind") == "it is behind"


def test_a_process_that_its_session_did_not_start_is_doubted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = table(tmp_path, (40, "bash", 1, 40), (50, "tacit", 1, 40))
    assert "detached" in doubt(folder, monkeypatch)


def test_a_terminal_that_an_agent_opened_is_doubted_though_nothing_else_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ((10, "sh", 1, 1), (20, "python3", 10, 1), (50, "tacit", 1, 50))
    folder = table(tmp_path, *rows, environ={10: b"CLAUDECODE=1\0"})
    hold(folder, 20, 3)
    assert "marked by CLAUDECODE" in doubt(folder, monkeypatch)
    assert doubt(folder, monkeypatch, terminal=4) == "", "another terminal is nobody's fault"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (((20, "python3.11", 1, 20), (50, "tacit", 20, 50)), "detached process"),
        (((15, "sh", 1, 9), (20, "script", 15, 9), (50, "tacit", 20, 50)), "detached process"),
        (((15, "sh", 1, 1), (20, "script", 15, 1), (50, "tacit", 20, 50)), "detached process"),
        (((15, "sh", 1, 0), (20, "script", 15, 0), (50, "tacit", 20, 50)), "detached process"),
        (((15, "sh", 1, 1, 9, 34816), (20, "script", 15, 1), (50, "tacit", 20, 50)), "detached process"),
        (((15, "cron", 1, 15), (20, "script", 15, 20), (50, "tacit", 20, 50)), "a scheduler"),
        (((15, "claude", 1, 15), (20, "script", 15, 20), (50, "tacit", 20, 50)), "marked by claude"),
    ],
)
def test_a_terminal_that_a_program_opened_by_itself_is_doubted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: tuple[Row, ...], told: str
) -> None:
    folder = table(tmp_path, *rows)
    hold(folder, 20, 3)
    assert told in doubt(folder, monkeypatch)


@pytest.mark.parametrize(("server", "window"), [("tmux: server", "tmux: client"), ("SCREEN", "screen")])
def test_a_window_that_nobody_has_open_is_doubted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str, window: str
) -> None:
    rows = ((20, server, 1, 20), (40, "bash", 20, 40), (50, "tacit", 40, 40))
    folder = table(tmp_path, *rows)
    assert "nobody is attached to this" in doubt(folder, monkeypatch)
    table(tmp_path, (60, "claude", 1, 60), (61, window, 60, 60))
    assert "nobody is attached to this" in doubt(folder, monkeypatch), "an agent is nobody"
    table(tmp_path, (70, "sshd", 1, 70), (71, "bash", 70, 71), (72, window, 71, 71))
    assert doubt(folder, monkeypatch) == ""


def test_a_process_without_anything_above_it_is_detached(tmp_path: Path) -> None:
    folder = table(tmp_path, (40, "sh", 1, 30), (50, "python3", 40, 30), (60, "python3", 61, 60), (61, "sshd", 1, 61))
    assert Presence(folder, own=50).is_detached()
    table(folder, (70, "tacit", 1, 70), (80, "tacit", 81, 80), (81, "nohup", 1, 80))
    assert Presence(folder, own=70).is_detached(), "whatever the program itself is called"
    assert Presence(folder, own=80).is_detached()
    assert not Presence(folder, own=60).is_detached()
    assert not Presence(folder / "none", own=50).is_detached(), (
        "where nothing can be seen, nothing is held against anybody"
    )


def test_a_dead_process_leads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = table(tmp_path, (40, "bash", 20, 40), (50, "tacit", 40, 40))
    (folder / "40" / "stat").write_text("40 (bash) Z 20 40 40 0\n")
    assert "detached" in doubt(folder, monkeypatch)
