"""A throw-away machine: a home, a project with a small real problem, `tacit` on the path, a client and its model.

Nothing of the caller's environment gets in but where Tacit is installed. A session is one run of the real client.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Terminal
from tests.e2e.loops import ledger
from tests.e2e.loops.clients import LAST_CALLS, REPORT_LITTLE, Client, Move, Ran
from tests.e2e.loops.dialects import Request, Turn
from tests.e2e.loops.model import ScriptedModel
from tests.person import give_key

SESSION_S = 120
LEARNER_S = 90
TACIT = Path(sys.executable).parent / "tacit"

Way = Callable[[Request], Sequence[Move]]


@dataclass(frozen=True)
class Session:
    """What one run of the client left."""

    code: int
    out: str
    err: str
    requests: tuple[Request, ...]
    commands: tuple[Ran, ...]

    @property
    def failures(self) -> list[str]:
        """The commands that failed."""
        return [ran.command for ran in self.commands if ran.failed or ledger.ERROR in ran.output]


@dataclass
class World:
    """One machine."""

    client: Client
    model: ScriptedModel
    home: Path
    project: Path

    @classmethod
    def made(cls, folder: Path, client: Client, model: ScriptedModel, *, clone_of: Path | None = None) -> World:
        """Lay it out: the project is new, or cloned from another machine's."""
        world = cls(client=client, model=model, home=folder / "home", project=folder / "ledger")
        programs = world.home / ".local" / "bin"
        programs.mkdir(parents=True)
        (programs / "python3").symlink_to(Path(sys.executable).resolve())
        (world.home / ".profile").write_text('PATH="$HOME/.local/bin:$PATH"\n', encoding="utf-8")
        if clone_of:
            subprocess.run(["git", "clone", "-q", clone_of, world.project], env=world.environment, check=True)
        else:
            ledger.lay_out(world.project)
            world.git("init", "-q", "-b", "main")
            world.commit("ledger")
        client.prepare(world.home, world.project, model.address)
        return world

    def install_tacit(self) -> None:
        """Put `tacit` where a person's own programs are, as pipx or uv would; the person has a key."""
        give_key(self.home / ".tacit")
        (self.home / ".local" / "bin" / "tacit").symlink_to(TACIT)

    def init(self, *options: str) -> None:
        """Let Tacit write itself into the client's configuration."""
        done = self.person.type("init", "--client", self.client.name, "--yes", *options)
        assert done.code == 0, done

    def git(self, *words: str) -> None:
        """Run git in the project."""
        identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.invalid"]
        subprocess.run(["git", *identity, *words], cwd=self.project, env=self.environment, check=True)

    def commit(self, message: str) -> None:
        """Commit everything."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def undo(self) -> None:
        """Take back what was done since the last commit, and what was built."""
        self.git("reset", "-q", "--hard")
        self.git("clean", "-fdq", "--exclude=.*")
        self.forget_build()

    @property
    def environment(self) -> dict[str, str]:
        """What every program here sees."""
        path = f"{self.home}/.local/bin:/usr/local/bin:/usr/bin:/bin"
        own = {"HOME": str(self.home), "PATH": path, "SHELL": "/bin/bash", "USER": "ann"}
        return own | {"LANG": "C.UTF-8", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}

    @property
    def person(self) -> Terminal:
        """A person at this machine's terminal."""
        return Terminal(project=self.project, home=self.home, variables={"PATH": self.environment["PATH"]})

    def session(
        self, prompt: str, way: Way, *, goes_on: bool = False, typed: bool = False, options: Sequence[str] = ()
    ) -> Session:
        """Give the agent a task; `way` says from each request which moves it knows, and it makes the next of them.

        A session that goes on is the last one with another message; its moves begin with those made before. What is typed
        is a person's word, and anything else is a program's.
        """

        def script(request: Request) -> Turn:
            moves = way(request)
            if request.turn >= len(moves):
                return Turn("That is done.", LAST_CALLS.get(self.client.name))
            return Turn("Next.", self.client.call(moves[request.turn], self.project))

        self.model.script = script
        self.model.requests.clear()
        if typed:
            (program, *words), added = self.client.editor(prompt, self.home, goes_on=goes_on)
        else:
            (program, *words), added = self.client.command(prompt, goes_on=goes_on), {}
        done = subprocess.run(
            [program, *options, *words],
            cwd=self.project,
            env=self.environment | self.client.environment(self.home, self.model.address) | added,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SESSION_S,
            check=False,
        )
        assert not self.model.faults, self.model.faults
        commands = tuple(self.client.commands(done.stdout))
        return Session(done.returncode, done.stdout, done.stderr, tuple(self.model.requests), commands)

    def forget_build(self) -> None:
        """Bring the project back to what a fresh clone has, apart from what was changed in it."""
        shutil.rmtree(self.project / "build", ignore_errors=True)

    def tacit(self, *words: str) -> Any:
        """What a command of Tacit answers, as a document."""
        ran = self.person.run(*words, "--json")
        assert ran.code == 0, ran
        return ran.json

    def learned(self, trajectories: int = 1) -> list[dict[str, Any]]:
        """Wait until the learner in the background is done with so many attempts; what waits for review then."""
        requests = self.project / ".tacit" / "sessions"
        deadline = time.monotonic() + LEARNER_S
        while time.monotonic() < deadline:
            time.sleep(0.3)
            # Where no end is reported, the last session's request waits for the next session.
            names = ("*.taken",) if self.client.name in REPORT_LITTLE else ("*.wanted", "*.taken")
            if any(found for name in names for found in requests.glob(name)):
                continue
            stats = self.tacit("stats")
            if stats["learned"] >= trajectories:
                waiting: list[dict[str, Any]] = self.tacit("review")["waiting"]
                return waiting
        raise AssertionError(f"nothing was learned in {LEARNER_S} s: {self.tacit('stats')} {self.log()}")

    def moments(self, version_id: str) -> list[str]:
        """The moments at which a version was shown, by the hooks' own journals."""
        journals = (self.project / ".tacit" / "sessions").glob("*.jsonl")
        lines = [json.loads(line) for file in journals for line in file.read_text(encoding="utf-8").splitlines()]
        return [line["moment"] for line in lines if version_id in line.get("shown", ())]

    def log(self) -> str:
        """What the hooks could not do, if anything."""
        file = self.home / ".tacit" / "hook.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def assert_undisturbed(self, session: Session) -> None:
        """Neither the client nor a hook had anything to complain of."""
        assert session.code == 0, session
        assert not self.log()

    def approve(self, version_id: str) -> None:
        """A person, who has a key, decides."""
        give_key(self.home / ".tacit")
        approved = self.person.type(
            "review", version_id, "--approve", "--by", "Ann", answers={"Is it right? [y/N]:": "y\n"}
        )
        assert approved.code == 0, approved.out
