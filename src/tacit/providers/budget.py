"""Hard limits on calls, tokens and money, for a run and for a day. Says no by raising `OverBudget`.

An upper estimate is held before each call and replaced by what the call really took; a call whose cost nobody tells keeps it.
What each day took lies in one small file in the person's home, shared by all processes. A process that is killed leaves its
estimate there. A file that cannot be read is set aside, and no more is spent on that day.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tacit.config.files import open_plain, read_plain, write_atomically
from tacit.domain.errors import ModelOutage, OverBudget
from tacit.domain.ports import Spending

FILE = "model-usage.json"
_LOCK = "model-usage.lock"
_DAMAGED = "damaged_on"
_DAYS_KEPT = 62
_MAX_BYTES = 256 * 1024
Price = Callable[[int, int], float]
"""Tokens read and written → US dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that may be spent, each a limit of its own."""

    calls: int
    tokens: int
    usd: float


class Budget:
    """What may still be spent. One for a whole run of learning; calls are made one after the other."""

    def __init__(self, limits: Limits, *, price: Price, ledger: UsageLedger | None = None) -> None:
        """Start with nothing spent in this run; `price` must be known before it. The ledger keeps the day's limit."""
        self.limits = limits
        self._price = price
        self._spent = Spending()
        self._ledger = ledger
        self._day = ""

    @property
    def spent(self) -> Spending:
        """All that was spent, with the full estimate for calls whose cost is not known."""
        return self._spent

    def hold(self, *, input_tokens: int, output_tokens: int) -> Spending:
        """Set aside the most that the next call can cost; raises `OverBudget` and sets nothing aside if it does not fit."""
        most = self._cost(input_tokens, output_tokens)
        after = self._spent + most
        for what, wanted, limit in (
            ("calls", after.calls, self.limits.calls),
            ("tokens", after.tokens, self.limits.tokens),
            ("usd", after.usd, self.limits.usd),
        ):
            if wanted > limit:
                message = f"the next call may bring {what} to {wanted:.6g}, and the limit is {limit:.6g}"
                raise OverBudget(message, hint=f"raise model.max_{what}, or learn from less at a time")
        if self._ledger is not None:
            self._day = self._ledger.hold(most)
        self._spent = after
        return most

    def settle(self, held: Spending, *, input_tokens: int, output_tokens: int, usd: float | None = None) -> None:
        """Put what a call really took in place of what was held for it; `usd` where the model itself says it."""
        real = self._cost(input_tokens, output_tokens)
        real = real if usd is None else dataclasses.replace(real, usd=usd)
        self._spent = self._spent - held + real
        if self._ledger is not None:
            self._ledger.settle(self._day, held, real)

    def _cost(self, input_tokens: int, output_tokens: int) -> Spending:
        usd = self._price(input_tokens, output_tokens)
        return Spending(calls=1, input_tokens=input_tokens, output_tokens=output_tokens, usd=usd)


class UsageLedger:
    """The days' spending of one person. Days are those of UTC."""

    def __init__(
        self, home: Path, *, limit: int = 0, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        """Use the file in the person's home; `limit` is the number of tokens for a day."""
        self.path = home / FILE
        self._limit = limit
        self._clock = clock

    @property
    def today(self) -> str:
        """The day, as `2026-01-31`."""
        return self._clock().astimezone(UTC).date().isoformat()

    def hold(self, most: Spending) -> str:
        """Count the most that the next call can cost and return the day; raise `OverBudget` where it does not fit."""
        with self._locked():
            day, days, damaged_on = self.today, *self._load()
            if damaged_on == day:
                hint = "tomorrow it counts again; or remove the file to start now"
                message = f"{self.path} was damaged today, so what today cost is not known"
                raise OverBudget(message, code="ledger_damaged", hint=hint)
            after = days.get(day, Spending()) + most
            if after.tokens > self._limit:
                message = f"the next call may bring today's tokens to {after.tokens}, and the limit is {self._limit}"
                hint = "raise model.max_tokens_per_day, or wait a day"
                raise OverBudget(message, code="over_daily_budget", hint=hint)
            self._save({**days, day: after}, damaged_on)
            return day

    def settle(self, day: str, held: Spending, real: Spending) -> None:
        """Put what a call took in place of what was held for it; where that cannot be written, the estimate stays."""
        with suppress(ModelOutage), self._locked():
            days, damaged_on = self._load()
            if day in days:
                self._save({**days, day: days[day] - held + real}, damaged_on)

    def spent(self, period: str) -> Spending:
        """What was spent on a day (`2026-01-31`) or in a month (`2026-01`); nothing where the file cannot be read."""
        try:
            days, _ = _parse(read_plain(self.path, limit=_MAX_BYTES))
        except (OSError, ValueError):
            return Spending()
        return sum((each for day, each in days.items() if day.startswith(period)), Spending())

    @property
    def is_damaged(self) -> bool:
        """Whether nothing more is spent today because the file was damaged."""
        try:
            return _parse(read_plain(self.path, limit=_MAX_BYTES))[1] == self.today
        except FileNotFoundError:
            return False
        except (OSError, ValueError):
            return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes out; where the home cannot be written to, no call is made."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = open_plain(self.path.parent / _LOCK, os.O_RDWR | os.O_CREAT, mode=0o600)
        except OSError as error:
            raise self._not_writable(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        except OSError as error:
            raise self._not_writable(error) from error
        finally:
            os.close(lock)

    def _not_writable(self, error: OSError) -> ModelOutage:
        message = f"the day's limit cannot be kept: {error.filename or self.path}: {error.strerror or error}"
        return ModelOutage(message, code="ledger_not_writable", hint="check permissions and free space there")

    def _load(self) -> tuple[dict[str, Spending], str]:
        """The days, and the day on which the file was found damaged; a damaged one is set aside."""
        try:
            return _parse(read_plain(self.path, limit=_MAX_BYTES))
        except FileNotFoundError:
            return {}, ""
        except ValueError:
            self.path.replace(self.path.with_suffix(".damaged"))
            self._save({}, self.today)
            return {}, self.today

    def _save(self, days: Mapping[str, Spending], damaged_on: str) -> None:
        kept = {day: dataclasses.asdict(days[day]) for day in sorted(days)[-_DAYS_KEPT:]}
        write_atomically(self.path, json.dumps({"days": kept, _DAMAGED: damaged_on}), mode=0o600)


def _parse(data: bytes) -> tuple[dict[str, Spending], str]:
    """Read the file's content; raise `ValueError` where it is not what was written."""
    try:
        document = json.loads(data)
        days = {str(day): Spending(**each) for day, each in document["days"].items()}
        if not all(each.tokens >= 0 and each.calls >= 0 and each.usd > -1e-6 for each in days.values()):
            raise ValueError("negative")
        return days, str(document.get(_DAMAGED, ""))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not a ledger") from error
