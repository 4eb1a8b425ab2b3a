"""Any card folder goes through a store and comes out equal in meaning, its last versions the last."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.features.cards.card import Backport, Card, CardEvent, Recommendation, Signal, SignalKind
from tacit.features.cards.card_records import FILES, entry_of, line_of
from tacit.features.cards.folder import CardFolder
from tests.unit.features.cards.making import World
from tests.unit.making import NOW

TEXT = st.text(max_size=20)
TEXTS = st.lists(TEXT, max_size=3)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=5
)
TIMES = st.sampled_from(["2025-12-26T18:22:10Z", "2025-12-27 08:00:00", "2026-01-02T03:04:05+02:00", "yesterday", ""])
STATUSES = st.sampled_from(["proposed", "accepted", "done", "implemented", "rejected", "whatever", ""])


def line(prefix: str, **known: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    name = "backport_id" if prefix == "slbp" else "id"
    fixed = {name: st.sampled_from([f"{prefix}_1", f"{prefix}_2"]), "ts": TIMES}
    return st.builds(
        lambda known, more: {**more, **known},
        st.fixed_dictionaries(fixed, optional=known),
        st.dictionaries(st.sampled_from(["team", "rating", "ümläut", "x"]), JSON, max_size=2),
    )


CARDS = line(
    "aha", title=TEXT, when_to_use=TEXT, problem=TEXT, solution_steps=TEXTS | JSON, evidence=TEXTS, tags=TEXTS, status=STATUSES,
    shareable=st.booleans(), scope=st.sampled_from(["project", "portable", "?"]), input_shape=JSON, key=TEXT, note=TEXT,
)  # fmt: skip
ADVICE = line("rec", title=TEXT, why=TEXT, expected_impact=JSON, status=STATUSES, tags=TEXTS, backport=JSON, note=TEXT)
EVENTS = line("evt", task_summary=TEXT, primary_skill=TEXT, notes=TEXTS | JSON)
BACKPORTS = line(
    "slbp", target_skill=TEXT, target_skill_path=TEXT, requested_card_ids=TEXTS, applied=st.booleans(), bundle_dir=TEXT
)
SIGNALS = st.builds(
    lambda said, kind: {**said, "kind": kind, "aha_id" if kind.startswith("aha") else "rec_id": f"{kind[:3]}_1"},
    line("sig", source=TEXT, context=TEXT),
    st.sampled_from(sorted(SignalKind)),
)
FOLDERS: st.SearchStrategy[dict[type[Any], list[dict[str, Any]]]] = st.fixed_dictionaries(
    {
        Card: st.lists(CARDS, max_size=4),
        Recommendation: st.lists(ADVICE, max_size=4),
        CardEvent: st.lists(EVENTS, max_size=3),
        Backport: st.lists(BACKPORTS, max_size=3),
        Signal: st.lists(SIGNALS, max_size=3),
    }
)


def meant(sort: type[Any], lines: list[dict[str, Any]]) -> list[str]:
    """What lines say, settled and in a form that can be compared; the same twice is the same once."""
    said = [json.dumps(line_of(entry_of(sort, line, by="ann", at=NOW)), sort_keys=True) for line in lines]
    return sorted(set(said))


def last(sort: type[Any], lines: list[dict[str, Any]]) -> dict[str, str]:
    entries = [entry_of(sort, line, by="ann", at=NOW) for line in lines]
    return {entry.key: json.dumps(line_of(entry), sort_keys=True) for entry in entries}


def written(folder: Path, sort: type[Any]) -> list[dict[str, Any]]:
    path = folder / FILES[sort]
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line] if path.exists() else []


@settings(max_examples=20)
@given(files=FOLDERS)
def test_import_and_export_are_equal_in_meaning_for_every_sort(files: dict[type[Any], list[dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        world = World(place / "w")
        world.folder.mkdir(parents=True)
        for sort, lines in files.items():
            text = "".join(json.dumps(each) + "\n" for each in lines)
            (world.folder / FILES[sort]).write_text(text, encoding="utf-8")
        deck = world.deck()
        assert deck.sync().problems == ()
        world.deck().export_folder(CardFolder(place / "out"))
        for sort, lines in files.items():
            assert meant(sort, written(place / "out", sort)) == meant(sort, lines)
        held = {key: json.dumps(line_of(card), sort_keys=True) for key, card in deck.cards().items()}
        assert held == last(Card, lines=files[Card])
        assert deck.sync().read == 0
        world.memory.close()
