"""The index that hooks read: words or an error's signature → rendered skills. Read-only.

It opens in a fraction of the time that the store takes: no schema is checked, no content is read, nothing is upgraded. A row
counts only if its seal fits, it belongs to the newest recallable version of its skill, and a person signed an approval of it:
its text is then the one that they signed. Imports nothing that is slow to load.
"""

from __future__ import annotations

import json
import os
from itertools import islice

import apsw

from tacit.config.signers import approves
from tacit.domain.reach import CARD, breadth, reaches
from tacit.store.lexical_search import VERSION_FIELDS, VERSION_WEIGHTS, LexicalSearch, terms_in
from tacit.store.seals import seal_of
from tacit.text.context_frame import card_text, standing_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from tacit.config.signers import Signers

SCHEMA = 12
"""The schema that this index reads. An older store is upgraded, and rendered again, when a command or the learner opens it."""
APPLICATION_ID = 0x54414349  # "TACI"
BUSY_TIMEOUT_MS = 500
COLUMNS = (
    "id", "skill_id", "kind", "name", "description", "scope", "signature", "subject", "examples", "conditions", "tokens",
    "rank", "fresh_at", "text", "reinforced", "unproven", "person", "importance",
)  # fmt: skip
"""Of the table `renderings`, without `seq` and `seal`. `rank` is the reliability."""

_NEWEST = (
    "{row} = (SELECT max(seq) FROM versions WHERE status IN ('trial', 'trusted') AND skill_id = "
    "(SELECT skill_id FROM versions WHERE seq = {row}))"
)
_CURRENT = (
    f"SELECT {{}} FROM renderings AS r WHERE {{}} AND {_NEWEST.format(row='r.seq')} "
    "AND r.id = (SELECT id FROM versions WHERE seq = r.seq) ORDER BY r.rank DESC, r.fresh_at DESC, r.seq DESC"
)
"""The renderings of current versions, the most reliable first."""
_AS_BEFORE = "\0"
"""Stands for the text of what was approved before there were signatures, while there is no signer."""
_PARTS = b'"sub_skills":["'
"""Quotation marks inside a text are escaped, so no text matches it."""
_WORDS = (
    f"SELECT seq, {', '.join(VERSION_FIELDS)}, seal FROM version_words WHERE seq IN (SELECT value FROM json_each(?))"
)


class SkillRow:
    """A rendered skill: a recallable version as the agent sees it, and what ranking needs."""

    __slots__ = (
        "conditions", "description", "examples", "fresh_at", "importance", "kind", "name", "person", "reinforced",
        "reliability", "scope", "sequence", "signature", "skill_id", "subject", "text", "tokens", "unproven", "version_id",
    )  # fmt: skip

    def __init__(self, row: Sequence[Any]) -> None:
        (
            self.sequence, self.version_id, self.skill_id, self.kind, self.name, self.description, self.scope,
            self.signature, subject, examples, conditions, self.tokens, self.reliability, self.fresh_at, self.text,
            self.reinforced, self.unproven, self.person, self.importance,
        ) = row  # fmt: skip
        self.subject = terms_in(subject)
        """Terms of the tags, then those of the signature (`recall.hook_recall` tells them apart by that order)."""
        self.examples = [terms_in(line) for line in examples.split("\n") if line]
        """Terms of each example query."""
        self.conditions: list[list[str]] = json.loads(conditions)
        """Its preconditions: text, and the command that checks it, if known."""


class SkillMatch:
    """A skill that matches a query: how well its words match, and its terms by `VERSION_FIELDS`."""

    __slots__ = ("lexical", "row", "words")

    def __init__(self, row: SkillRow, lexical: float, words: Sequence[Sequence[str]]) -> None:
        self.row = row
        self.lexical = lexical
        self.words = words


class HookIndex:
    """An open index. `damaged` names the rows that were skipped because their seals do not fit."""

    def __init__(self, database: apsw.Connection, signers: Signers | None = None) -> None:
        self._database = database
        self._signers = signers
        self._path = database.filename
        self._store = ""
        self._signed: dict[int, str] = {}
        self._lexical = LexicalSearch(self._run, "version", read=self._words, weights=VERSION_WEIGHTS)
        self.damaged: list[str] = []

    @classmethod
    def open(cls, path: str, signers: Signers | None = None) -> HookIndex | None:
        """Open a store for reading; nothing if there is none, or this program cannot read its schema.

        Without signers no signature is needed: that is the policy `open`.
        """
        if not os.path.isfile(path):
            return None
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        database = apsw.Connection(f"file:{_quoted(path)}?{_mode(path)}", flags=flags)
        database.set_busy_timeout(BUSY_TIMEOUT_MS)
        application = database.pragma("application_id")
        schema = int(database.pragma("user_version"))
        if application != APPLICATION_ID or schema != SCHEMA:
            database.close()
            return None
        for sql in ("PRAGMA trusted_schema = OFF", "BEGIN"):  # one unchanging state for all queries
            database.execute(sql).fetchall()
        return cls(database, signers)

    def frequencies(self, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """In how many versions each term occurs, and how many versions there are."""
        return self._lexical.frequencies(terms, recallable=True)

    def by_words(self, terms: Sequence[str], *, limit: int = 20) -> tuple[list[SkillMatch], dict[str, int], int]:
        """Skills that share words with a query, best first; in how many versions each term occurs, and how many there are."""
        frequencies, documents = self.frequencies(terms)
        found = []
        for match in self._lexical.search((frequencies, documents), limit=limit, condition=_NEWEST):
            for row in self._rows("r.seq = ?", match.seq):
                found.append(SkillMatch(row, match.score, match.words))
        return found, frequencies, documents

    def by_signature(self, signature: str, *, scope: str = "", limit: int = 20) -> list[SkillRow]:
        """Skills for exactly this error that may be seen from the scope, best first."""
        found = self._rows("r.signature <> '' AND r.signature = ?", signature, scope=scope)
        return list(islice(found, limit))

    def norms(self, *, scope: str = "", limit: int = 20) -> list[SkillRow]:
        """Conventions and preferences, best first."""
        return list(islice(self._rows("r.kind IN ('norm', 'preference')", scope=scope), limit))

    def cards(self, *, scope: str = "") -> list[SkillRow]:
        """The cards of facts that may be seen from the scope, one for each scope that has one."""
        return list(self._rows("r.kind = 'fact' AND r.name = ?", CARD, scope=scope))

    def narrower_namesakes(self, found: Sequence[SkillRow], *, scope: str) -> list[SkillRow]:
        """Skills of the same kinds and names as these that are kept at narrower scopes than these."""
        numbers = narrower_namesakes(self._run, ((row.kind, row.name, row.scope) for row in found), scope=scope)
        return [row for seq in numbers for row in self._rows("r.seq = ?", seq)]

    def by_version(self, version_id: str, *, scope: str = "") -> list[SkillRow]:
        """This version, if it is current and may be seen from the scope."""
        return list(self._rows("r.id = ?", version_id, scope=scope))

    def extending(self, name: str, *, scope: str = "") -> list[SkillRow]:
        """Skills that extend the skill of this name, or an overlay of it, best first; only what may be seen from the scope."""
        found: dict[str, SkillRow] = {}
        names = [name]
        for each in names:
            extends = f'"extends":{json.dumps(each, ensure_ascii=False)}'.encode()
            for row in self._rows("r.id IN (SELECT id FROM versions WHERE instr(record, ?))", extends, scope=scope):
                if row.version_id not in found:
                    found[row.version_id] = row
                    names.append(row.name)
        return list(found.values())

    def index(self, limit: int, *, scope: str = "") -> list[SkillRow]:
        """All skills that may be seen from the scope, best first."""
        return list(islice(self._rows("TRUE", scope=scope), limit))

    def composites(self, version_ids: Sequence[str]) -> dict[str, tuple[list[str], list[str]]]:
        """Composite skills among these: version → the names of its parts, and the versions it came from."""
        sql = "SELECT * FROM versions WHERE id IN (SELECT value FROM json_each(?)) AND instr(record, ?)"
        found = {}
        for row in self._run(sql, json.dumps(list(version_ids)), _PARTS):
            if self._intact("versions", row, label=row[1]):
                record = json.loads(row[-2])
                found[str(row[1])] = list(record["content"]["sub_skills"]), list(record.get("parents", ()))
        return found

    def notes(self, session: str, *, now: str) -> list[dict[str, str]]:
        """What the agents of a session share and did not copy from outside, oldest first: id, name, text.

        `now` is a time as it is stored.
        """
        sql = "SELECT * FROM jottings WHERE session_id = ? AND drawer IN ('context', 'artifact') AND expires_at > ?"
        rows = self._run(f"{sql} ORDER BY seq", session, now)
        found = [json.loads(row[-2]) for row in rows if self._intact("jottings", row, label=row[1])]
        own = [note for note in found if note.get("origin") != "external"]
        return [{name: note.get(name, "") for name in ("id", "name", "text")} for note in own]

    def count(self) -> int:
        """How many renderings there are."""
        return int(self._run("SELECT count(*) FROM renderings")[0][0])

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def _rows(self, condition: str, *values: Any, scope: str = "") -> Iterator[SkillRow]:
        listed = ", ".join(f"r.{column}" for column in ("seq", *COLUMNS, "seal"))
        for row in self._database.execute(_CURRENT.format(listed, condition), values):
            if self._intact("renderings", row, label=row[1]) and (not scope or reaches(row[6], scope)):
                found = SkillRow(row[:-1])
                if self._signers is None or self._is_approved(found, self._signers):
                    yield found

    def _is_approved(self, row: SkillRow, signers: Signers) -> bool:
        """Whether a person signed an approval of the version; its text becomes the one that they signed."""
        if row.sequence not in self._signed:
            self._signed[row.sequence] = self._signed_text(row, signers)
        text = self._signed[row.sequence]
        if text == _AS_BEFORE:
            return True
        is_card = row.kind == "fact" and row.name == CARD
        row.text = card_text(text, row.text) if is_card else standing_text(text, row.text)
        return bool(text)

    def _signed_text(self, row: SkillRow, signers: Signers) -> str:
        """Return the text that a person signed; empty if nobody did."""
        self._store = self._store or str(self._run("SELECT id FROM identity")[0][0])
        sql = "SELECT v.hash, a.record FROM approvals AS a JOIN versions AS v ON v.id = a.version_id "
        for content_hash, record in self._run(sql + "WHERE v.id = ? ORDER BY a.seq DESC", row.version_id):
            signed = json.loads(record).get("signed", "")
            body = signers.verified(signed) if signed else None
            if (
                body
                and body["hash"] == content_hash
                and approves(body, kind=row.kind, name=row.name, scope=row.scope, store=self._store)
            ):
                return str(body.get("text", ""))
        if signers.believes_earlier(self._path) and self._run(
            "SELECT 1 FROM approved_before WHERE id = ?", row.version_id
        ):
            return _AS_BEFORE
        return ""

    def _run(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._database.execute(sql, values).fetchall()

    def _words(self, numbers: Sequence[int]) -> Iterator[tuple[int, Sequence[str]]]:
        found = {row[0]: row for row in self._run(_WORDS, json.dumps(numbers))}
        for seq in numbers:
            row = found.get(seq)
            if row is not None and self._intact("version_words", row, label=seq):
                yield seq, row[1:-1]

    def _intact(self, table: str, row: Sequence[Any], *, label: object) -> bool:
        if row[-1] == seal_of(table, row[:-1]):
            return True
        self.damaged.append(f"{table} {label} does not fit its seal")
        return False


def narrower_namesakes(
    run: Callable[..., Iterable[Sequence[Any]]], found: Iterable[tuple[str, str, str]], *, scope: str
) -> list[int]:
    """Return the numbers of renderings with one of these kinds and names at a narrower scope than it has here."""
    widest: dict[tuple[str, str], tuple[int, bool]] = {}
    for kind, name, kept in found:
        widest[kind, name] = max(breadth(kept), widest.get((kind, name), (0, False)))
    sql = "SELECT seq, kind, name, scope FROM renderings WHERE name IN (SELECT value FROM json_each(?)) ORDER BY seq"
    return [
        seq
        for seq, kind, name, kept in run(sql, json.dumps([name for _, name in widest]))
        if reaches(kept, scope) and breadth(kept) < widest.get((kind, name), (0, False))
    ]


def _quoted(path: str) -> str:
    """A path inside a URI; SQLite interprets these three characters."""
    return os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _mode(path: str) -> str:
    """Read while others write; a file that cannot be written and has no log needs neither log nor locks."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.access(path, os.W_OK) or os.access(folder, os.W_OK):
        return "mode=ro"
    immutable = not any(os.path.exists(path + end) for end in ("-wal", "-journal"))
    return "immutable=1" if immutable else "mode=ro"
