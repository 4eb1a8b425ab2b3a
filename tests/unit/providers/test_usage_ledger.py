"""The day's limit is hard: over restarts, over processes, over a killed call and over a file that was torn."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tacit.domain.errors import ModelOutage, OverBudget
from tacit.domain.ports import Spending
from tacit.providers.budget import FILE, Budget, Limits, UsageLedger
from tests.raising import raises

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
AMPLE = Limits(calls=100, tokens=1_000_000, usd=100.0)


def ledger(home: Path, *, limit: int = 10_000, now: datetime = NOW) -> UsageLedger:
    return UsageLedger(home, limit=limit, clock=lambda: now)


def budget(home: Path, *, limit: int = 10_000, now: datetime = NOW) -> Budget:
    return Budget(AMPLE, price=lambda read, written: (read + written) / 1000, ledger=ledger(home, limit=limit, now=now))


def test_what_a_call_took_replaces_its_estimate(tmp_path):
    run = budget(tmp_path)
    held = run.hold(input_tokens=6000, output_tokens=1000)
    assert ledger(tmp_path).spent("2026-01-31").tokens == 7000
    run.settle(held, input_tokens=900, output_tokens=100, usd=0.5)
    assert ledger(tmp_path).spent("2026-01") == Spending(calls=1, input_tokens=900, output_tokens=100, usd=0.5)
    assert run.spent == ledger(tmp_path).spent("2026-01-31")


def test_limit_holds_over_restarts_and_ends_with_the_day(tmp_path):
    budget(tmp_path).hold(input_tokens=6000, output_tokens=0)  # killed before it was settled
    again = budget(tmp_path)
    with raises(OverBudget, "over_daily_budget") as refused:
        again.hold(input_tokens=6000, output_tokens=0)
    assert "model.max_tokens_per_day" in refused.value.hint
    assert again.spent == Spending()
    budget(tmp_path, now=NOW + timedelta(days=1)).hold(input_tokens=6000, output_tokens=0)


def test_call_that_ends_after_midnight_belongs_to_the_day_it_began(tmp_path):
    times = [NOW, NOW + timedelta(days=1)]
    run = Budget(AMPLE, price=lambda *_: 0.0, ledger=UsageLedger(tmp_path, limit=10_000, clock=lambda: times.pop(0)))
    held = run.hold(input_tokens=6000, output_tokens=0)
    run.settle(held, input_tokens=10, output_tokens=0)
    assert ledger(tmp_path).spent("2026-01-31").tokens == 10
    assert ledger(tmp_path).spent("2026-02").tokens == 0


@pytest.mark.slow
def test_limit_holds_over_parallel_processes(tmp_path):
    script = (
        "import sys; from pathlib import Path\n"
        "from tacit.domain.errors import OverBudget\n"
        "from tacit.domain.ports import Spending\n"
        "from tacit.providers.budget import UsageLedger\n"
        "made = 0\n"
        "for _ in range(20):\n"
        "    try: UsageLedger(Path(sys.argv[1]), limit=5000).hold(Spending(calls=1, input_tokens=100))\n"
        "    except OverBudget: break\n"
        "    made += 1\n"
        "print(made)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    made = [int(process.communicate()[0]) for process in started]
    total = UsageLedger(tmp_path).spent(UsageLedger(tmp_path).today)
    assert (sum(made), total.calls, total.tokens) == (50, 50, 5000)


@pytest.mark.parametrize(
    "torn", ["", '{"days": {"2026-01-31": {"calls": 1', "[]", '{"days": {"x": {"calls": "many"}}}']
)
def test_torn_file_is_set_aside_and_nothing_more_is_spent_on_that_day(tmp_path, torn):
    (tmp_path / FILE).write_text(torn)
    for _ in range(2):
        with raises(OverBudget, "ledger_damaged"):
            ledger(tmp_path).hold(Spending(calls=1, input_tokens=1))
    assert (tmp_path / FILE).with_suffix(".damaged").read_text() == torn
    assert ledger(tmp_path).is_damaged
    tomorrow = ledger(tmp_path, now=NOW + timedelta(days=1))
    assert not tomorrow.is_damaged
    assert tomorrow.hold(Spending(calls=1, input_tokens=1)) == "2026-02-01"


def test_home_that_cannot_be_written_makes_no_call(tmp_path):
    (tmp_path / "home").write_text("not a folder")
    with raises(ModelOutage, "ledger_not_writable"):
        ledger(tmp_path / "home").hold(Spending(calls=1))


def test_old_days_are_dropped(tmp_path):
    for day in range(80):
        ledger(tmp_path, now=NOW + timedelta(days=day)).hold(Spending(calls=1, input_tokens=1))
    assert len(json.loads((tmp_path / FILE).read_text())["days"]) == 62


def test_missing_file_is_no_spending(tmp_path):
    assert ledger(tmp_path).spent("2026-01") == Spending()
    assert not ledger(tmp_path).is_damaged
