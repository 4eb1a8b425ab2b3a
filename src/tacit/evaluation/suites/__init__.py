"""Suites by name: what there is to be measured on. A name, a folder of data and options in; a suite out.

`next_call` makes a suite of any solved attempts; `retail` and `bfcl` are such suites of public tasks, `own` one of the user's
own work, `telecom` a world to act in. `rehearsal` gives a memory that has learned only what a suite lets it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from tacit.domain.errors import Mistake, NotFound
from tacit.domain.ports import Store
from tacit.domain.trajectory import Trajectory
from tacit.evaluation.suite import Suite

__all__ = ["SUITES", "Given", "Known", "Taught", "open_suite"]


@runtime_checkable
class Taught(Protocol):
    """A suite that says what may be learned from before it is attempted."""

    def training_trajectories(self) -> list[Trajectory]:
        """Attempts at other tasks, with their outcomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a suite is made from."""

    data: Path | None = None
    store: Store | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def folder(self) -> Path:
        """The folder of the suite's files."""
        if self.data is None:
            raise Mistake("this suite needs its files", hint="give the folder that holds them by --data")
        if not self.data.is_dir():
            raise NotFound(
                f"no such folder: {self.data}", hint="give the folder that holds the suite's files by --data"
            )
        return self.data

    def number(self, name: str, default: float) -> float:
        """An option as a number."""
        try:
            return float(self.options.get(name, default))
        except ValueError:
            raise Mistake(f"{name} is a number, not {self.options[name]!r}", hint=f"{name}={default:g}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A suite that can be opened by its name."""

    name: str
    summary: str
    make: Callable[[Given], Suite]
    options: Mapping[str, str] = field(default_factory=dict)
    """Option → what it says."""


def open_suite(
    name: str,
    *,
    data: Path | None = None,
    store: Store | None = None,
    options: Mapping[str, str] | None = None,
) -> Suite:
    """Open a suite; `data` is its folder where it has one, `store` what the user's own work is taken from."""
    known = SUITES.get(name)
    if known is None:
        near = difflib.get_close_matches(name, SUITES, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise NotFound(f"no suite {name!r}", hint=f"{meant}there are {', '.join(SUITES)}")
    unknown = sorted(set(options or {}) - set(known.options))
    if unknown:
        offered = ", ".join(known.options) or "none"
        raise Mistake(f"{name} has no option {', '.join(unknown)}", hint=f"its options: {offered}")
    return known.make(Given(data=data, store=store, options=dict(options or {})))


def _retail(given: Given) -> Suite:
    from tacit.evaluation.suites.retail import CUSTOMER, RetailSuite

    return RetailSuite(given.folder(), by=given.options.get("by", CUSTOMER))


def _bfcl(given: Given) -> Suite:
    from tacit.evaluation.suites.bfcl import BfclSuite

    return BfclSuite(given.folder())


def _telecom(given: Given) -> Suite:
    from tacit.evaluation.suites.telecom import TelecomSuite

    folder, options = given.folder(), given.options
    driver = (
        Path(options["driver"]) if "driver" in options else folder.resolve().parent.parent / "tools" / "telecom_env.py"
    )
    checkout = Path(options["checkout"]) if "checkout" in options else None
    return TelecomSuite(folder, driver=driver, checkout=checkout, max_calls=int(given.number("calls", 0)))


def _everyday(given: Given) -> Suite:
    from tacit.evaluation.suites.everyday import EverydaySuite

    del given  # it needs nothing
    return EverydaySuite()


def _own(given: Given) -> Suite:
    from tacit.adapters.gathering import gather
    from tacit.evaluation.suites.own import SHARE, own_suite

    if given.store is None:
        raise Mistake("this suite is made of a store", hint="run it in a project with a store")
    return own_suite(gather(given.store), share=given.number("share", SHARE), seed=int(given.number("seed", 0)))


SUITES: Mapping[str, Known] = {
    known.name: known
    for known in (
        Known(
            name="own",
            summary="the next call in your own verified work, tasks that were held out",
            make=_own,
            options={"share": "the part of the tasks to hold out (0.2)", "seed": "which tasks (0)"},
        ),
        Known(
            name="retail",
            summary="the next change that a customer's request needs (tau-bench retail)",
            make=_retail,
            options={"by": "what hangs together: customer (tasks about one customer are variants) or task"},
        ),
        Known(name="everyday", summary="everyday requests, one of six tools each", make=_everyday),
        Known(name="bfcl", summary="the next call of a request among many tools (BFCL multi-turn)", make=_bfcl),
        Known(
            name="telecom",
            summary="acting until a customer's phone works again (tau2-bench telecom)",
            make=_telecom,
            options={
                "driver": "path of telecom_env.py (two folders above the data, in tools/)",
                "checkout": "path of a checkout of tau2-bench (TAU2_BENCH)",
                "calls": "calls that an attempt may make (the driver's own limit)",
            },
        ),
    )
}
