"""Many processes that do the same work at once, forked from one interpreter that has its imports done."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable


def together(processes: int, work: Callable[[int], None]) -> None:
    """Do the work in so many processes, none before all are there; exits with 1 if one of them failed."""
    waiting, go = os.pipe()
    children: list[int] = []
    for number in range(processes):
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(waiting, 1)
            _do(work, number)
        children.append(child)
    os.close(go)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(int(any(codes)))


def tell(line: str) -> None:
    """Write a line to standard output in one piece, so that lines of several processes do not mix."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def _do(work: Callable[[int], None], number: int) -> None:
    code = 1
    try:
        work(number)
        code = 0
    except BaseException:  # the parent reads it from standard error
        traceback.print_exc()
    finally:
        os._exit(code)
