import json
import re
from collections import Counter
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "bench" / "data"
RESERVED = re.compile(
    r"(?:^|\.)(?:invalid|vainyvq|test|example\.com|localhost)$|^(?:198\.51\.100|203\.0\.113|192\.0\.2|169\.254\.169)\.\d+$"
)
"""Reserved names and addresses; `vainyvq` is `invalid` in ROT13, as one of the skills hides it."""
HOST = re.compile(r"(?:https?|ftp|rtmp)://([A-Za-z0-9.-]+)|[\w.+-]+@([A-Za-z0-9-]+\.[A-Za-z0-9.-]*[A-Za-z])")


def rows(name):
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def texts(row):
    return [row["text"], *row.get("files", {}).values()] if "text" in row else list(row["files"].values())


@pytest.mark.parametrize("name", ["injections.jsonl", "malicious_skills.jsonl"])
def test_written_attacks_name_only_hosts_that_lead_nowhere(name):
    hosts = {
        (found[1] or found[2]).lower().rstrip(".")
        for row in rows(name)
        for text in texts(row)
        for found in HOST.finditer(text)
    }
    assert len(hosts) > 20
    assert {host for host in hosts if not RESERVED.search(host)} == set()


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("injections.jsonl", lambda row: (row["class"], row["category"])),
        ("malicious_skills.jsonl", lambda row: row["group"]),
        ("tempting_skills.jsonl", lambda row: row["group"]),
    ],
)
def test_each_group_is_cut_into_two_equal_halves_without_a_text_twice(name, group):
    read = rows(name)
    halves = Counter((group(row), row["half"]) for row in read)
    assert {half for _, half in halves} == {"dev", "held"}
    assert all(halves[key, "dev"] == halves[key, "held"] for key, _ in halves)
    assert len({row["id"] for row in read}) == len(read) == len({tuple(texts(row)) for row in read})
