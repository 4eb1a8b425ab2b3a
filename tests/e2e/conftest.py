"""Real processes: a runner for the command line in a clean environment, and a terminal for it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tacit.providers.sandbox import Bubblewrap
from tests.e2e.nursery import Nursery, Start, is_possible
from tests.e2e.sandbox_required import require_sandbox
from tests.person import PASSPHRASE, give_key

LAST_QUESTION = "Let agents use"
"""How the question before an approval begins; answered with yes unless a test answers it."""
UNLOCKED = """
import sys
from pathlib import Path
from tacit.config.signers import set_unlocked_key
from tacit.config.signing_key import unlock
set_unlocked_key(unlock(Path(sys.argv[1]), sys.argv[2]))
del sys.argv[1:3]
from tacit.surfaces.entry import main
sys.exit(main())
"""
"""A program of the person's, which has their passphrase."""
PASSPHRASE_QUESTION = "Passphrase, to sign"
"""How the question for the passphrase begins, and the answer: the person's, unless a test types another one."""
READING_QUESTION = "Read new sessions in the background"
"""How `init` asks where a client is installed; answered with no unless a test answers it."""
HOME_QUESTION = "Also delete"
"""How `uninstall` asks for the person's own folder; answered with no unless a test answers it."""
OF_THE_INTERPRETER = ("PYTHON", "LANG", "LC_")
"""Variables that begin so are read when an interpreter starts, and at no other time."""
OF_ITS_CHILDREN = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS"})
"""Those of them that are set for what a command starts: the command itself needs no interpreter of its own for them."""


@dataclass(frozen=True)
class Ran:
    """What a finished process left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document that it printed; at a terminal the questions stand before it."""
        return json.loads(self.out[self.out.index("{") :])


def uncoloured(text: str) -> str:
    """A terminal's text without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@dataclass
class Terminal:
    """Runs `tacit` in a project folder, without and with a terminal."""

    project: Path
    home: Path
    variables: dict[str, str] = field(default_factory=dict)
    unlocked: bool = False
    """Whether commands run in a program of the person's that has unlocked their key, so that nobody is asked."""
    nursery: ClassVar[Nursery | None] = None

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "PYTHONPATH") if name in os.environ}
        own = {"HOME": str(self.home), "USER": "ann", "COLUMNS": "160", "TERM": "xterm", "PYTHONWARNINGS": "error"}
        return kept | own | self.variables

    def run(self, *arguments: str, stdin: str = "", timeout_s: float = 120) -> Ran:
        """Run it, without a terminal, to its end."""
        if here := self.begins_at:
            return Ran(*here.run(self.start(arguments, unlocked=self.unlocked), stdin=stdin, timeout_s=timeout_s))
        return self.run_cold(*arguments, stdin=stdin, timeout_s=timeout_s)

    def run_cold(self, *arguments: str, stdin: str = "", timeout_s: float = 120) -> Ran:
        """The same in an interpreter of its own, which imports all that it needs."""
        program = ["-c", UNLOCKED, str(self.home / ".tacit"), PASSPHRASE] if self.unlocked else ["-m", "tacit"]
        done = subprocess.run(
            [sys.executable, *program, *arguments],
            cwd=self.project,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def type(self, *arguments: str, answers: Mapping[str, str | list[str]] | None = None, timeout_s: float = 60) -> Ran:
        """Run in a pseudo-terminal; whenever a waited-for text appears, type its answer, or the next of its answers."""
        master, number, wait = self._typed(arguments)
        waiting = {text: [said] if isinstance(said, str) else list(said) for text, said in (answers or {}).items()}
        waiting.setdefault(LAST_QUESTION, ["y\n"])
        waiting.setdefault(READING_QUESTION, ["n\n"])
        waiting.setdefault(HOME_QUESTION, ["n\n"])
        waiting.setdefault(PASSPHRASE_QUESTION, [f"{PASSPHRASE}\n"])
        seen, read_to = "", 0
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            ready, _, _ = select.select([master], [], [], 0.2)
            if not ready:
                continue
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data.decode("utf-8", "replace")
            for text, answer in waiting.items():
                at = seen.find(text, read_to)
                if at >= 0:
                    read_to = at + len(text)
                    os.write(master, (answer.pop(0) if len(answer) > 1 else answer[0]).encode())
                    break
        else:
            os.kill(number, signal.SIGKILL)  # it asks what nobody answers
        code = wait()
        os.close(master)
        return Ran(code, seen, "")

    def _typed(self, arguments: Sequence[str]) -> tuple[int, int, Callable[[], int]]:
        """Start it at a terminal: the terminal's other end, the number of the process, and how to wait for its exit code."""
        if here := self.begins_at:
            master, slave = pty.openpty()
            begun = here.begin(self.start(arguments), [slave])
            return master, begun.number, begun.wait
        child, master = pty.fork()
        if child == 0:
            os.chdir(self.project)
            os.execve(sys.executable, [sys.executable, "-m", "tacit", *arguments], self.environment)
        return master, child, lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    @property
    def begins_at(self) -> Nursery | None:
        """Where processes begin with their imports done; nothing where a variable says how the interpreter shall start."""
        is_usual = not any(name.startswith(OF_THE_INTERPRETER) for name in self.variables.keys() - OF_ITS_CHILDREN)
        return self.nursery if is_usual else None

    def start(self, arguments: Sequence[str], *, unlocked: bool = False) -> Start:
        """What the nursery is asked for."""
        return Start(arguments, str(self.project), self.environment, PASSPHRASE if unlocked else "")


@pytest.fixture(scope="session", autouse=True)
def a_nursery() -> Iterator[None]:
    """One per worker, where the system has what it needs."""
    if not is_possible():
        yield
        return
    Terminal.nursery = Nursery(Terminal(project=Path("/"), home=Path("/")).environment)
    yield
    Terminal.nursery.close()
    Terminal.nursery = None


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    project, home = tmp_path / "shop", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    learn_from_one_run(home)
    give_key(home / ".tacit")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return Terminal(project=project, home=home)


def learn_from_one_run(home: Path) -> None:
    """Write the person's settings: one run gives a procedure, since most tests are about what happens to it afterwards."""
    (home / ".tacit").mkdir(exist_ok=True)
    (home / ".tacit" / "tacit.toml").write_text("[learn]\nprocedure_runs = 1\n", encoding="utf-8")


@pytest.fixture(scope="session")
def transcripts() -> Iterator[Path]:
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
        yield folder


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory, transcripts: Path) -> Path:
    """Two stores made once by real runs: `learned.db`, and `approved.db` in which a person approved everything."""
    folder = tmp_path_factory.mktemp("stores")
    (folder / "home").mkdir()
    learn_from_one_run(folder / "home")
    give_key(folder / "home" / ".tacit")
    maker = Terminal(project=folder, home=folder / "home", variables={"TACIT_STORE": str(folder / "learned.db")})
    assert maker.run("learn", str(transcripts), "--json").code == 0
    shutil.copy(folder / "learned.db", folder / "approved.db")
    maker.variables["TACIT_STORE"] = str(folder / "approved.db")
    approve_all(maker)
    return folder


@pytest.fixture
def learned(terminal: Terminal, stores: Path) -> Terminal:
    """A project with candidates waiting."""
    return place(terminal, stores / "learned.db")


@pytest.fixture
def approved(terminal: Terminal, stores: Path) -> Terminal:
    """A project whose skills a person approved."""
    return place(terminal, stores / "approved.db")


def place(terminal: Terminal, store: Path) -> Terminal:
    """Put a copy of a closed store into the project."""
    assert not store.with_name(f"{store.name}-wal").exists()
    (terminal.project / ".tacit").mkdir()
    shutil.copy(store, terminal.project / ".tacit" / "tacit.db")
    return terminal


def approve_all(terminal: Terminal) -> list[str]:
    """Approve everything that waits, as a person's program does; the names of it."""
    terminal.unlocked = True
    waiting = terminal.run("review", "--json").json["waiting"]
    for item in waiting:
        ticks = [word for tick in item["ticks"] for word in ("--tick", tick["key"])]
        chosen = ("--approve", "--by", "ann", "--hash", item["content_hash"], *ticks)
        done = terminal.run("review", item["version_id"], *chosen)
        assert done.code == 0, done.err
    terminal.unlocked = False
    return [item["name"] for item in waiting]


@pytest.fixture(scope="session")
def sandbox() -> Bubblewrap:
    """The sandbox as whoever runs the tests gets it."""
    return require_sandbox()
