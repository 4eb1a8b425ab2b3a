"""The console script `tacit`: starts a hook, or the command line.

Hooks run hundreds of times a day, and importing the command line takes three times as long as starting the interpreter, so
each is imported only when it is needed.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run `tacit hook` without importing the command line, everything else with it."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv[2:]):
        from tacit.surfaces.hook.entry import main as hook

        hook(sys.argv[2:])
    else:
        from tacit.surfaces.cli import main as command_line

        command_line()
