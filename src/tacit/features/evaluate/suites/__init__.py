"""Suites by name. `own` is made of the user's verified work, `retail` and `bfcl` of public tasks, `telecom` is a world
to act in, `everyday` a set of simple requests that must not get worse."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from tacit.domain.errors import Mistake, NotFound
from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.suite import Suite
from tacit.store import Store

_WHOLE = re.compile(r"[0-9]{1,18}")
_SHOWN = 40


@runtime_checkable
class TeachingSuite(Protocol):
    """A suite that has training tasks."""

    def training_trajectories(self) -> list[Trajectory]:
        """Return attempts at other tasks, with their outcomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteInput:
    """What a suite is made from."""

    data: Path | None = None
    store: Store | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def folder(self) -> Path:
        """Return the folder with the suite's files."""
        if self.data is None:
            hint = "give the folder that holds them by --data"
            raise Mistake("this suite needs its files", code="no_data", hint=hint)
        if not self.data.is_dir():
            hint = "give the folder that holds the suite's files by --data"
            raise NotFound(f"no such folder: {self.data}", code="no_data", hint=hint)
        return self.data

    def number(self, name: str, default: float) -> float:
        """Return an option as a number."""
        try:
            found = float(self.options.get(name, default))
        except ValueError:
            found = math.nan
        if not math.isfinite(found):
            given_text = self.options[name][:_SHOWN]
            hint = f"such as --option {name}={default:g}"
            raise Mistake(f"{name} must be a number, not {given_text!r}", code="bad_option_value", hint=hint)
        return found

    def whole(self, name: str, default: int) -> int:
        """Return an option as a whole number from 0 on."""
        text = self.options.get(name, str(default)).strip()
        if not _WHOLE.fullmatch(text):
            message = f"{name} must be a whole number from 0 on, not {text[:_SHOWN]!r}"
            raise Mistake(message, code="bad_option_value", hint=f"such as --option {name}={default}")
        return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteEntry:
    """A suite that can be opened by its name."""

    name: str
    summary: str
    make: Callable[[SuiteInput], Suite]
    options: Mapping[str, str] = field(default_factory=dict)
    """Option → its description."""
    counts: str = ""
    """What counts as success, and what an agent earns that does nothing."""
    acts: bool = False
    """Whether there is a world to act in, in which the reference agent is useful."""
    runs: tuple[str, ...] = ()
    """Options that name code to run: only a person may give them, no file."""


def open_suite(
    name: str, *, data: Path | None = None, store: Store | None = None, options: Mapping[str, str] | None = None
) -> Suite:
    """Open a suite; `data` is its folder, `store` the source of the user's own work."""
    known = SUITES.get(name)
    if known is None:
        near = difflib.get_close_matches(name, SUITES, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise NotFound(f"unknown suite {name!r}", code="unknown_suite", hint=f"{meant}there are {', '.join(SUITES)}")
    unknown = sorted(set(options or {}) - set(known.options))
    if unknown:
        offered = ", ".join(known.options) or "none"
        hint = f"its options: {offered}"
        raise Mistake(f"{name} has no option {', '.join(unknown)}", code="unknown_option", hint=hint)
    return known.make(SuiteInput(data=data, store=store, options=dict(options or {})))


def _retail(given: SuiteInput) -> Suite:
    from tacit.features.evaluate.suites.public_tasks import CUSTOMER, RetailSuite

    return RetailSuite(given.folder(), by=given.options.get("by", CUSTOMER))


def _bfcl(given: SuiteInput) -> Suite:
    from tacit.features.evaluate.suites.public_tasks import BfclSuite

    return BfclSuite(given.folder())


def _telecom(given: SuiteInput) -> Suite:
    from tacit.features.evaluate.suites.telecom import TelecomSuite

    folder, options = given.folder(), given.options
    if "driver" not in options:
        hint = "name one that you trust: --option driver=PATH/telecom_env.py"
        raise Mistake("suite telecom runs a driver, a Python file", code="no_driver", hint=hint)
    driver = Path(options["driver"])
    checkout = Path(options["checkout"]) if "checkout" in options else None
    return TelecomSuite(folder, driver=driver, checkout=checkout, max_calls=given.whole("calls", 0))


def _everyday(given: SuiteInput) -> Suite:
    from tacit.features.evaluate.suites.everyday import EverydaySuite

    del given  # it needs nothing
    return EverydaySuite()


def _own(given: SuiteInput) -> Suite:
    from tacit.features.evaluate.suites.own import SHARE, own_suite
    from tacit.features.evaluate.verified_attempts import gather

    if given.store is None:
        raise Mistake("this suite is made from a store", code="no_store", hint="run it in a project with a store")
    share = given.number("share", SHARE)
    if not 0 < share < 1:
        hint = f"such as --option share={SHARE:g}"
        raise Mistake(f"share must be between 0 and 1, not {share:g}", code="bad_option_value", hint=hint)
    seed = given.whole("seed", 0)
    attempts = gather(given.store)
    if not attempts:
        raise Mistake("there is no verified work here yet", code="no_verified_work", hint="`tacit learn` takes it in")
    return own_suite(attempts, share=share, seed=seed)


_NEXT_CALL = (
    'success: the next call has the right tool, or the answer is "done" when the task is done; whether its arguments are '
    "right too is a separate figure (whole call right)."
)
_ENDS = f'{_NEXT_CALL} Every task has one such end, so that always saying "done" earns one exercise of each task'


SUITES: Mapping[str, SuiteEntry] = {
    known.name: known
    for known in (
        SuiteEntry(
            name="own",
            summary="the next call in your own verified work, tasks that were held out",
            make=_own,
            options={"share": "the part of the tasks to hold out (0.2)", "seed": "which tasks (0)"},
            counts=_ENDS,
        ),
        SuiteEntry(
            name="retail",
            summary="the next change that a customer's request needs (tau-bench retail)",
            make=_retail,
            options={"by": "what hangs together: customer (tasks about one customer are variants) or task"},
            counts=_ENDS,
        ),
        SuiteEntry(
            name="everyday",
            summary="everyday requests, one of six tools each; teaches nothing, it is there to be no worse on",
            make=_everyday,
            counts='success: the right tool is called; saying "done" or guessing one of six earns 0 and 17 %',
        ),
        SuiteEntry(
            name="bfcl",
            summary="the next call of a request among many tools (BFCL multi-turn)",
            make=_bfcl,
            counts=_ENDS,
        ),
        SuiteEntry(
            name="telecom",
            summary="acting until a customer's phone works again (tau2-bench telecom)",
            make=_telecom,
            options={
                "driver": "path of telecom_env.py; it is run, so it is taken from the command line alone",
                "checkout": "path of a checkout of tau2-bench (TAU2_BENCH); it is run too",
                "calls": "calls that an attempt may make (the driver's own limit)",
            },
            counts="success: the phone works at the end and the customer was not transferred needlessly; doing nothing earns 0",
            acts=True,
            runs=("driver", "checkout"),
        ),
    )
}
