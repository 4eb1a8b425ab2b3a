"""The project that the agents work in: closing the months of a ledger, with a trap.

A month is closed by writing its report and marking it as closed; a test compares the two. The trap: a report needs
exchange rates that a tool has to compile first, in every fresh checkout, and the error does not say so.
"""

from __future__ import annotations

from pathlib import Path

from tests.e2e.loops.clients import Look, Move, Replace, Run

MONTHS = ("2026-04", "2026-05", "2026-06", "2026-07")
COMPILE = "python3 tools/compile_rates.py"
CHECK = "python3 -m unittest -q"
RATES, BUILD, TEST = "make rates", "make build", "make test"
ERROR = "LookupError: exchange rates were never compiled"


def task(month: str) -> str:
    """What a person asks for."""
    return f"Close the month {month}: write its report, mark it as closed, and see that the tests pass."


def report(month: str) -> str:
    """The command that falls into the trap."""
    return f"python3 -m ledger report {month}"


def short_way(month: str) -> list[Move]:
    """How somebody does it who knows the trap."""
    mark = Replace("data/months.csv", old=f"{month},open", new=f"{month},closed")
    return [Run(COMPILE), Run(report(month)), Look("data/months.csv"), mark, Run(CHECK)]


def long_way(month: str) -> list[Move]:
    """How somebody does it who does not: falls in, looks around, finds the way out."""
    return [Run(report(month)), Look("ledger/rates.py"), Run("ls tools"), *short_way(month)]


def release() -> list[Move]:
    """How somebody builds a release who does not know that the rates come first; the error names no command."""
    return [Run(BUILD), Look("Makefile"), Run(RATES), Run(BUILD), Run(TEST)]


def lay_out(project: Path) -> None:
    """Write the files."""
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")


def closed(project: Path, month: str) -> bool:
    """Whether the work is done, by what lies on the disk."""
    marked = f"{month},closed" in (project / "data" / "months.csv").read_text(encoding="utf-8")
    return marked and (project / "reports" / f"{month}.txt").exists()


FILES = {
    ".gitignore": "build/\n__pycache__/\n",
    "Makefile": """\
rates:
\t@python3 tools/compile_rates.py

build:
\t@test -s build/rates.json || { echo "error: table of exchange rates is missing" >&2; exit 1; }
\t@cp build/rates.json build/release.json && echo released

test:
\t@python3 -m unittest -q
""",
    "README.md": "# Ledger\n\nMonths are closed one by one. Tests: `python3 -m unittest -q`.\n",
    "data/invoices.csv": "day,amount,currency\n2026-05-03,100,USD\n2026-05-20,-40,EUR\n2026-06-11,80,CHF\n2026-07-01,9,EUR\n",
    "data/months.csv": "month,state\n" + "".join(f"{month},open\n" for month in MONTHS),
    "data/rates.csv": "currency,rate\nUSD,1\nEUR,1.25\nCHF,1.5\n",
    "ledger/__init__.py": "",
    "ledger/__main__.py": """\
import sys
from pathlib import Path

from ledger.rates import rates
from ledger.totals import total

if __name__ == "__main__":
    _, command, month = sys.argv
    text = f"{total(month, rates()):.2f} USD\\n"
    Path("reports").mkdir(exist_ok=True)
    Path(f"reports/{month}.txt").write_text(text)
    print(month, text, end="")
""",
    "ledger/rates.py": """\
import json
from pathlib import Path


def rates():
    table = Path("build/rates.json")
    if not table.exists():
        raise LookupError("exchange rates were never compiled")
    return json.loads(table.read_text())
""",
    "ledger/totals.py": """\
import csv
from pathlib import Path


def total(month, rates):
    with Path("data/invoices.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["day"].startswith(month)]
    return sum(float(row["amount"]) * rates[row["currency"]] for row in rows)
""",
    "tools/compile_rates.py": """\
import csv
import json
from pathlib import Path

if __name__ == "__main__":
    with Path("data/rates.csv").open() as file:
        table = {row["currency"]: float(row["rate"]) for row in csv.DictReader(file)}
    Path("build").mkdir(exist_ok=True)
    Path("build/rates.json").write_text(json.dumps(table))
    print(f"{len(table)} rates compiled")
""",
    "tests/__init__.py": "",
    "tests/test_months.py": """\
import csv
import unittest
from pathlib import Path

from ledger.totals import total


class MonthsTest(unittest.TestCase):
    def test_every_closed_month_has_its_report(self):
        with Path("data/rates.csv").open() as file:
            rates = {row["currency"]: float(row["rate"]) for row in csv.DictReader(file)}
        with Path("data/months.csv").open() as file:
            closed = [row["month"] for row in csv.DictReader(file) if row["state"] == "closed"]
        for month in closed:
            text = Path(f"reports/{month}.txt").read_text()
            self.assertEqual(text, f"{total(month, rates):.2f} USD\\n")
""",
}
