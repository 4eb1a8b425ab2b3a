"""One run of the command line: which store, who is calling, and how to answer (tables for people, JSON for programs)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import click
from rich.console import Console

from tacit.config.environment import UserEnvironment
from tacit.config.location import StoreLocation, find_location
from tacit.config.presence import Presence
from tacit.config.settings import Config, Setting, load_config
from tacit.domain.errors import Mistake, NotFound, TacitError
from tacit.surfaces.authority import Caller
from tacit.surfaces.cli.output import PlainConsole, clean, one_line, to_json

if TYPE_CHECKING:
    from tacit.api import Tacit

__all__ = ["CommandContext", "clean", "command_options", "counted", "one_line"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class CommandContext:
    """State of one command: made by the group, filled by the command's own options."""

    environment: UserEnvironment
    store: str = ""
    as_json: bool = False
    model_name: str | None = None
    """The language model named on the command line, empty for none; not given: as the settings say."""
    may_create: bool = False
    """Whether the command may create a store where there is none."""
    console: Console = field(default_factory=lambda: PlainConsole(highlight=False, soft_wrap=False))
    errors: Console = field(default_factory=lambda: PlainConsole(stderr=True, highlight=False))

    @cached_property
    def place(self) -> StoreLocation:
        """Where the store is."""
        return find_location(self.environment, store=self.store)

    @cached_property
    def settings(self) -> tuple[Config, tuple[Setting, ...]]:
        """All settings and their sources."""
        folders = (Path.cwd(), self.place.project)
        return load_config(folders, file=self.environment.config_file, home=self.environment.person_home)

    @cached_property
    def memory(self) -> Tacit:
        """The opened memory; loaded here, so that `tacit --help` need not wait for it.

        Only commands that write may create a store: looking at nothing must leave nothing behind.
        """
        exists = self.place.database == ":memory:" or Path(self.place.database).exists()
        if not exists and not self.may_create:
            if self.place.is_chosen:
                raise NotFound(
                    f"no store at {self.place.database}", hint="check the path; `tacit learn` creates a store"
                )
            return self.opened(self.place.in_memory())
        return self.opened(self.place)

    def opened(self, place: StoreLocation) -> Tacit:
        """Open the store of a place with the settings of this session."""
        from tacit.api import open_at

        return open_at(place, config=self.settings[0], home=self.environment.person_home)

    @property
    def caller(self) -> Caller:
        """Who is calling."""
        typed = sys.stdin is not None and sys.stdin.isatty()
        at_terminal = typed and (sys.stdout.isatty() or self.as_json)
        doubt = self._doubt if at_terminal else ""
        return Caller(environment=self.environment, at_terminal=at_terminal, doubt=doubt)

    @cached_property
    def _doubt(self) -> str:
        """Why nobody can be typing; not asked where an agent's marks say it already."""
        return "" if self.environment.agent_markers else Presence().doubt()

    def answer(self, document: Any, show: Callable[[], None]) -> None:
        """Print one JSON document for a program, or let `show` print for a person."""
        if self.as_json:
            # On a terminal nothing but ASCII, so that no stored character can act on it.
            click.echo(to_json(document, ascii_only=sys.stdout.isatty()))
        else:
            show()

    def end_with(self, error: TacitError) -> NoReturn:
        """Fail after an answer was given: a program has its one document already and gets only the exit code."""
        if self.as_json:
            raise click.exceptions.Exit(error.exit_code)
        raise error

    def person(self, name: str) -> str:
        """Who decides: the name given, the user's, or what git knows; asked for at a terminal if all are silent."""
        known = name or self.environment.user or _git_user()
        if not known and self.caller.at_terminal and not self.as_json:
            return str(click.prompt("Your name"))
        if not known:
            raise Mistake("a decision needs the name of the person who decides", hint="pass --by NAME")
        return known

    def close(self) -> None:
        """Release the store if it was opened."""
        if "memory" in self.__dict__:
            self.memory.close()


def _git_user() -> str:
    try:
        done = subprocess.run(["git", "config", "user.name"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def command_options(function: F) -> F:
    """Give a command `--json` and `--store`, and pass it the session as its first argument."""

    @wraps(function)
    def with_session(*, as_json: bool, store: str, **options: Any) -> Any:
        ctx = click.get_current_context().find_object(CommandContext)
        assert ctx is not None
        ctx.as_json = ctx.as_json or as_json
        ctx.store = store or ctx.store
        return function(ctx, **options)

    as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
    store = click.option("--store", default="", metavar="PATH", help="Use this store instead of the project's.")
    return cast(F, as_json(store(with_session)))


def counted(number: int, noun: str, *, plural: str = "") -> str:
    """A number with its noun: 1 session, 2 sessions."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
