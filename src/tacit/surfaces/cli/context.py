"""The state of one command: which store, who is calling, and how to answer (text for people, JSON for programs)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tacit.config.environment import UserEnvironment
from tacit.config.location import StoreLocation, account_name, find_location
from tacit.config.passphrase import unlock_at_terminal
from tacit.config.settings import Config, ModelSettings, Setting, load_config
from tacit.config.signers import unlocked_key
from tacit.domain.errors import GateRefusal, Mistake, NotFound, NotPermitted, TacitError
from tacit.domain.ports import LanguageModel
from tacit.domain.stored import StoredVersion
from tacit.store import queries
from tacit.surfaces.authority import Caller
from tacit.surfaces.cli.report import (
    PlainConsole,
    ReportPart,
    clean,
    one_line,
    print_parts,
    safe,
    to_json,
    with_aliases,
)

if TYPE_CHECKING:
    from tacit.api import Tacit

__all__ = ["CommandContext", "clean", "command_options", "counted", "one_line", "safe"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class CommandContext:
    """The state of one command. The group makes it; the command's own options complete it."""

    environment: UserEnvironment
    store: str = ""
    as_json: bool = False
    command: str = ""
    """The command that runs, without `tacit`; decides which old JSON keys are kept."""
    may_create: bool = False
    """Whether the command may create a store."""
    has_sessions: bool = False
    """Whether agent sessions were found for this folder, which makes it a project."""
    console: Console = field(default_factory=lambda: PlainConsole(highlight=False, emoji=False))
    errors: Console = field(default_factory=lambda: PlainConsole(stderr=True, highlight=False, emoji=False))

    @cached_property
    def place(self) -> StoreLocation:
        """Where the store is."""
        for name, file in self.environment.ignored:
            text = f"warning: {name} is ignored because of {file} in the checkout; --store PATH chooses a store"
            self.errors.print(safe(text), style="yellow", soft_wrap=True)
        return find_location(self.environment, store=self.store)

    @cached_property
    def settings(self) -> tuple[Config, tuple[Setting, ...]]:
        """All settings and their sources."""
        folders = (Path.cwd(), self.place.project)
        return load_config(folders, file=self.environment.config_file, home=self.environment.person_home)

    @cached_property
    def memory(self) -> Tacit:
        """The open memory. Only commands that write may create a store, and only in a project."""
        if self.place.exists:
            memory = self.opened(self.place)
            for damage in memory.archive.verify(anchor_only=True):
                text = f"warning: {damage.subject} {damage.problem}. Entries of the store were lost; run `tacit store verify`"
                self.errors.print(safe(text), style="yellow", soft_wrap=True)
            return memory
        if self.may_create:
            self.place.require_project(has_sessions=self.has_sessions)
            return self.opened(self.place)
        if self.place.is_chosen:
            hint = "check the path; `tacit learn` creates a store"
            raise NotFound(f"no store at {self.place.database}", code="no_store", hint=hint)
        return self.opened(self.place.in_memory())

    def opened(self, place: StoreLocation) -> Tacit:
        """Open the store at a location with the settings of this command."""
        from tacit.api import open_at  # `tacit --help` need not wait for it

        return open_at(place, config=self.settings[0], home=self.environment.person_home)

    @property
    def caller(self) -> Caller:
        """Who is calling."""
        typed = sys.stdin is not None and sys.stdin.isatty()
        at_terminal = typed and (sys.stdout.isatty() or self.as_json)
        return Caller(environment=self.environment, at_terminal=at_terminal, unlock=self.unlock)

    def unlock(self, what: str) -> None:
        """Ask for the person's passphrase, once for each process; under the policy `open` nobody is asked."""
        if not self.settings[0].policy.is_open:
            unlock_at_terminal(self.environment.person_home, what, name=self.environment.user)

    @property
    def can_ask(self) -> bool:
        """Whether a person can be asked a question."""
        return self.caller.is_person and self.caller.at_terminal and not self.as_json

    @contextmanager
    def language_model(self, name: str, settings: ModelSettings, *, start: bool = False) -> Iterator[LanguageModel]:
        """Open a language model with the limits of the settings; with `start`, a client that is missing is an error now."""
        from tacit.providers.client_model import ClientModel
        from tacit.providers.opening import open_model

        if name != settings.name and not settings.base_url:  # the prices there are another model's
            settings = replace(settings, price_in=None, price_out=None)
        own = replace(settings, name=name)
        opened = open_model(own, key=self.environment.model_key, home=self.environment.person_home)
        if start and isinstance(opened, ClientModel):
            opened.program()
        with opened as model:
            yield model

    def may_show(self, stored: StoredVersion) -> bool:
        """Whether the caller may see a version: people see everything, others no preference of another person."""
        return not queries.is_private(stored, person=self.memory.context.person) or self.caller.is_person

    def visible(self, found: Iterable[StoredVersion]) -> list[StoredVersion]:
        """Return the versions that the caller may see, each `as_shown`."""
        return [self.as_shown(stored) for stored in found if self.may_show(stored)]

    def as_shown(self, stored: StoredVersion) -> StoredVersion:
        """Return a version, without its text if it is quarantined and nobody has unlocked their key."""
        return stored if unlocked_key() and self.caller.is_person else self.memory.reviews.withheld(stored)

    def version(self, reference: str) -> StoredVersion:
        """Return the version that a name or an id means, `as_shown`.

        Raises `NotPermitted` if the caller may not see it.
        """
        stored = self.memory.version(reference)
        self.require_visible(stored)
        return self.as_shown(stored)

    def require_visible(self, stored: StoredVersion) -> None:
        """Raise `NotPermitted` unless the caller may see a version."""
        if not self.may_show(stored):
            message = f"{stored.version.id[:10]} is another person's preference, which only people may see"
            hint = "run it in a terminal of your own"
            raise NotPermitted(message, code="private_preference", hint=hint)

    def report(
        self, document: Any, *parts: ReportPart | Callable[[], ReportPart | Iterable[ReportPart] | None]
    ) -> None:
        """Print one JSON document for a program, or the parts for a person: lines with markup, tables, or callables."""
        if self.as_json:
            # On a terminal only ASCII is printed, so that no stored character can act on it.
            known = with_aliases(document, self.command)
            click.echo(to_json(known, ascii_only=sys.stdout.isatty()))
            return
        for part in parts:
            found = part() if callable(part) else part
            print_parts(self.console, [found] if isinstance(found, str) or not isinstance(found, Iterable) else found)

    def end_with(self, error: TacitError) -> NoReturn:
        """Fail after the report was printed: a program has its document already and gets only the exit code."""
        if self.as_json:
            raise click.exceptions.Exit(error.exit_code)
        raise error

    def person(self, name: str) -> str:
        """Return the name of who decides: as given, the login, or the person's own git name; asked for if none is known.

        A repository's settings name nobody.
        """
        known = name or self.environment.user
        if not known:
            with suppress(OSError, subprocess.TimeoutExpired):
                ask = ["git", "config", "--global", "user.name"]
                known = subprocess.run(ask, capture_output=True, text=True, timeout=5, check=False).stdout.strip()
        known = known or account_name()
        if not known and self.caller.at_terminal and not self.as_json:
            return str(click.prompt("Your name"))
        if not known:
            message = "a decision needs the name of the person who decides"
            raise Mistake(message, code="no_person", hint="pass --by NAME")
        return known

    def require_yes(self, question: str, *parts: ReportPart, yes: bool) -> None:
        """Show what would change and go on only after a yes; a script passes --yes."""
        if yes:
            return
        if self.as_json or not self.caller.at_terminal:
            raise Mistake("nothing was changed: there is nobody to ask", code="needs_yes", hint="pass --yes")
        print_parts(self.console, parts)
        if not click.confirm(question):
            raise GateRefusal("nothing was changed", code="not_wanted")

    def close(self) -> None:
        """Release the store if it was opened."""
        if "memory" in self.__dict__:
            self.memory.close()


def command_options(function: F) -> F:
    """Give a command `--json` and `--store`, and pass it the `CommandContext` as its first argument.

    Both are described once, in `tacit --help`.
    """

    @wraps(function)
    def with_context(*, as_json: bool, store: str, **options: Any) -> Any:
        context = click.get_current_context()
        ctx = context.find_object(CommandContext)
        assert ctx is not None
        ctx.as_json = ctx.as_json or as_json
        ctx.store = store or ctx.store
        ctx.command = context.info_name or ""
        return function(ctx, **options)

    as_json = click.option("--json", "as_json", is_flag=True, hidden=True, help="Print one JSON document.")
    store = click.option("--store", default="", metavar="PATH", hidden=True, help="Use this store.")
    return cast(F, as_json(store(with_context)))


def by_option(help_text: str = "Your name, stored with it.") -> Callable[[F], F]:
    """Give a command `--by NAME`."""
    return click.option("--by", default="", metavar="NAME", help=help_text)


def counted(number: int, noun: str, *, plural: str = "") -> str:
    """Return a number with its noun: 1 session, 2 sessions."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


@contextmanager
def progress_bar(ctx: CommandContext, what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that is called with how much is done, and of how much; 0 if that is not known."""
    if ctx.as_json or not ctx.errors.is_terminal:
        yield lambda done, total: None
        return
    columns = (SpinnerColumn(), TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=ctx.errors, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def ask_key(prompt: str, keys: str) -> str:
    """Return which of these keys is pressed, without Enter; what was typed before the question appeared answers nothing.

    Capitals count as small letters unless `keys` has them; Enter is `\\n`. Without a terminal it is the first character of
    a line. Raises `click.Abort` where nobody can answer any more.
    """
    while True:
        with _pressed_keys() as read:
            click.echo(f"{prompt} ", nl=False)
            typed = read()
            click.echo(typed.strip() if typed.strip().isprintable() else "")
        if typed in ("", "\x04"):
            raise click.Abort
        key = typed.strip() or "\n"
        key = key if key in keys else key.lower()
        if len(key) == 1 and key in keys:
            return key


@contextmanager
def _pressed_keys() -> Iterator[Callable[[], str]]:
    """Yield a function that waits for a key; what is pasted comes in one piece, which is no key."""
    if sys.platform == "win32" or sys.stdin is None or not sys.stdin.isatty():
        yield sys.stdin.readline if sys.stdin is not None else str
        return
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSAFLUSH)
    try:
        yield lambda: os.read(terminal, 4096).decode("utf-8", "replace")
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def discard_typed_ahead() -> None:
    """Discard what was typed before the question appeared: held keys, and lines pasted after another answer."""
    if sys.platform == "win32" or sys.stdin is None or not sys.stdin.isatty():
        return
    import termios

    with suppress(OSError, ValueError, termios.error):  # if the terminal is gone, the question fails
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
