"""The console script: `tacit …` → the hooks, or the command line. Knows one word, and imports neither before it must.

A hook runs hundreds of times a day inside somebody's agent, and the command line takes three times a bare interpreter's
start only to be imported.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run `tacit hook` without the command line's weight, everything else with it."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv[2:]):
        from tacit.surfaces.hook.entry import main as hook

        hook(sys.argv[2:])
    else:
        from tacit.surfaces.cli import main as command_line

        command_line()
