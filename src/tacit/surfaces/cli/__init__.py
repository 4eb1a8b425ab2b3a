"""The command line `tacit`: the group of commands, and how errors become a message, a next step and an exit code."""

from __future__ import annotations

import io
import logging
import sys
import traceback
from io import TextIOWrapper
from pathlib import Path

import click

from tacit import __version__
from tacit.config.environment import UserEnvironment
from tacit.domain.errors import InvalidSkill, Mistake, StoreOutage, TacitError
from tacit.surfaces.cli.context import CommandContext
from tacit.surfaces.cli.report import clean, to_json
from tacit.surfaces.cli.table import LazyGroup


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text (any command).")
@click.option(
    "--store", default="", metavar="PATH", help="Use this store, not the project's .tacit/tacit.db (any command)."
)
@click.version_option(__version__, message="tacit %(version)s")
@click.pass_context
def cli(context: click.Context, *, as_json: bool, store: str) -> None:
    """Learn skills from what AI agents do, review them, and give them back to the agents.

    Start with `tacit demo`. In a project: `tacit learn`, then `tacit review`, then `tacit init`.
    Without a command: `tacit status`.
    """
    if context.obj is None:
        context.obj = CommandContext(environment=UserEnvironment.read())
    context.obj.store = store
    context.obj.as_json = context.obj.as_json or as_json
    if context.invoked_subcommand is None:
        status = cli.get_command(context, "status")
        assert status is not None
        context.invoke(status)


def main() -> None:
    """Run the command line and exit with the code of the error tree: 0 done, 2 mistake, 3 refused, 4 outage, 1 bug."""
    ctx = CommandContext(environment=UserEnvironment.read())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character must not fail
    try:
        sys.exit(cli.main(obj=ctx, standalone_mode=False) or 0)
    except TacitError as error:
        _report(ctx, error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        if ctx.as_json or "--json" in sys.argv:
            _report(ctx, Mistake(error.format_message(), code="usage", hint="see the command's --help"), as_json=True)
        else:
            buffer = io.StringIO()
            error.show(file=buffer)
            click.echo(clean(buffer.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped; what was reported as done is stored", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone
        sys.exit(141)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        refused = StoreOutage(
            f"the system refused: {what}",
            code="system_refused",
            hint="check the path, its permissions and the free space",
        )
        _report(ctx, refused)
        sys.exit(refused.exit_code)
    except Exception:  # a bug: logged with its traceback
        log = _log_bug(ctx.environment.home)
        click.echo(
            f"error: Tacit failed because of a bug; unfinished changes were rolled back. Details: {clean(log)}",
            err=True,
        )
        sys.exit(1)
    finally:
        ctx.close()


def _report(ctx: CommandContext, error: TacitError, *, as_json: bool = False) -> None:
    problems = list(error.problems) if isinstance(error, InvalidSkill) else []
    if ctx.as_json or as_json:
        document = {
            "kind": type(error).__name__,
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            "retryable": error.retryable,
        }
        click.echo(to_json({"error": document | ({"problems": problems} if problems else {})}, indent=None))
        return
    click.secho("error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(clean(error.message), err=True)
    for problem in problems if len(problems) > 1 else ():  # the message names a single one
        click.echo(f"  - {clean(problem)}", err=True)
    if error.hint:
        click.secho("next:  ", fg="cyan", nl=False, err=True)
        click.echo(clean(error.hint), err=True)


def _log_bug(home: Path) -> str:
    try:
        home.mkdir(parents=True, exist_ok=True)
        log = home / "tacit.log"
        handler = logging.FileHandler(log, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger = logging.getLogger("tacit")
        logger.addHandler(handler)
        logger.error(traceback.format_exc())
    except OSError:
        traceback.print_exc()
        return "above"
    return str(log)
