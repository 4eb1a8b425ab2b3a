"""Eight processes record cards at once, into one store and one folder: nothing is lost, nothing is there twice.

`TACIT_CARD_WRITES` sets how many cards each process records (5; 125 makes a thousand in all).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.features.cards.card import Card
from tacit.features.cards.card_records import FILES
from tacit.features.cards.folder import BELOW
from tacit.store import open_store

PROCESSES = 8
CARDS = int(os.environ.get("TACIT_CARD_WRITES", "5"))
ROOT = Path(__file__).parents[2]

WRITER = """
import sys
import tacit
from tacit.features.cards.cards import Cards
from tacit.features.cards.recording import Recorder, record
from tacit.domain.trajectory import Origin
from tests.faults.together import tell, together
from tests.unit.features.cards.making import payload_card

processes, cards, at_once = (int(each) for each in sys.argv[1:4])
writer = Recorder(by="agent", origin=Origin.AGENT, judge=lambda card: [])

def work(number):
    with tacit.open() as memory:
        for first in range(0, cards, at_once):
            said = [payload_card(number, index) for index in range(first, min(first + at_once, cards))]
            shared = {**payload_card(99, first), "title": f"Everybody learns thing {first} of the day"}
            done = record(Cards(memory), {"aha_cards": [*said, shared]}, writer)
            assert not done.refused, done.refused
            tell(" ".join(card.key for card, _ in done.cards[:-1]))

together(processes, work)
"""


def run(project: Path, at_once: int) -> list[str]:
    """Let all writers go at once; the ids that they were given."""
    env = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "USER": "ann",
        "HOME": str(project / "home"),
    }
    command = [sys.executable, "-c", WRITER, str(PROCESSES), str(CARDS), str(at_once)]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def lines(project: Path, sort: type[Card]) -> list[dict[str, str]]:
    text = (project / BELOW / "ann" / FILES[sort]).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("at_once", [1, CARDS], ids=["one-card-a-call", "one-payload-a-process"])
def test_eight_processes_lose_no_card_and_keep_none_twice(tmp_path: Path, at_once: int) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / BELOW / "ann").mkdir(parents=True)
    told = run(tmp_path, at_once)
    assert len(set(told)) == len(told) == PROCESSES * CARDS
    store = open_store(tmp_path / ".tacit" / "tacit.db")
    try:
        kept = store.entries(Card)
        assert list(store.verify()) == []
    finally:
        store.close()
    calls = -(-CARDS // at_once)
    titles = [card.title for card in kept]
    assert len(set(titles)) == len(titles) == PROCESSES * CARDS + calls, (
        "what all of them learn is one card, reinforced"
    )
    written = [line["id"] for line in lines(tmp_path, Card)]
    assert sorted(written) == sorted(card.key for card in kept)
    signals = (tmp_path / BELOW / "ann" / "signals.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({json.loads(line)["id"] for line in signals}) == len(signals) == (PROCESSES - 1) * calls
