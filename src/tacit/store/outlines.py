"""Attempts in outline: one sealed row per trajectory, and whether mining has taken it in.

An outline is made from the trajectory and can be made again, so it is not in the audit chain, and a damaged one counts as
none. Outlines of superseded or pruned trajectories do not count.
"""

from __future__ import annotations

from collections.abc import Iterable

from tacit.domain.outline import OUTLINE_VERSION, Outline
from tacit.store.connection import Connection, Damaged
from tacit.store.encoding import clean
from tacit.store.rows import Records, Values

_COUNTS = "(SELECT id FROM trajectories WHERE pruned = 0 AND superseded = 0)"


class Outlines:
    """The table `outlines`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.rows = Records(
            connection, "outlines", kind=Outline, derive=_of_outline, columns=("id", "version", "mined")
        )

    def keep(self, outline: Outline) -> None:
        """Write it, in place of the one before."""
        columns = self.rows.columns_of(outline)
        self._connection.run("DELETE FROM outlines WHERE id = ?", columns["id"])
        self.rows.add({**columns, "mined": 0})

    def all(self) -> list[Outline]:
        """Those that count, oldest first."""
        found = []
        for seq in self.rows.numbers(f"version = {OUTLINE_VERSION} AND id IN {_COUNTS}"):
            try:
                found.append(self.rows.value(self.rows.at(seq)))
            except Damaged:
                continue  # `verify` tells of it; the next outline takes its place
        return found

    def missing(self) -> list[str]:
        """Ids of learned trajectories that have none."""
        sql = (
            "SELECT id FROM trajectories WHERE learned = 1 AND pruned = 0 AND superseded = 0 AND id NOT IN "
            f"(SELECT id FROM outlines WHERE version = {OUTLINE_VERSION}) ORDER BY seq"
        )
        return [row[0] for row in self._connection.run(sql)] + self._damaged()

    def _damaged(self) -> list[str]:
        """Ids whose outline cannot be read: the next one takes its place."""
        found = []
        for seq, identity in self._connection.run(f"SELECT seq, id FROM outlines WHERE id IN {_COUNTS} ORDER BY seq"):
            try:
                self.rows.value(self.rows.at(seq))
            except Damaged:
                found.append(identity)
        return found

    def unmined(self) -> list[str]:
        """Ids of those that wait, oldest first."""
        sql = f"SELECT id FROM outlines WHERE mined = 0 AND id IN {_COUNTS} ORDER BY seq"
        return [row[0] for row in self._connection.run(sql)]

    def mark_mined(self, trajectory_ids: Iterable[str]) -> None:
        """Note that they have been taken in."""
        for trajectory_id in trajectory_ids:
            try:
                row = self.rows.find(trajectory_id)
            except Damaged:
                self._connection.run("DELETE FROM outlines WHERE id = ?", clean(trajectory_id))  # made anew
                continue
            if row and not row["mined"]:
                self.rows.change(row, mined=1)

    def forget_dropped(self) -> None:
        """Retention covers what was made of a trajectory too."""
        self._connection.run("DELETE FROM outlines WHERE id IN (SELECT id FROM trajectories WHERE pruned = 1)")


def _of_outline(outline: Outline) -> Values:
    return {"id": clean(outline.trajectory_id), "version": outline.version}
