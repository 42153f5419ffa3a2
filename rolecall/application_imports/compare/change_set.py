"""Define `ChangeSet`, the result of comparing a part of an import. `apply/write.py` writes it to the database.

It has the names that appear for the first time, and the differences of each relation.
"""

import secrets
import time
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from rolecall.application_imports.compare.diff import Difference
from rolecall.application_imports.compare.state import CurrentState, NameIndex
from rolecall.application_imports.model import Relation
from rolecall.application_imports.read.file_delta import DeltaPart, Doubt
from rolecall.applications.model import Content

# An import that reads this many rows avoids nested loops; a table that gets this many new rows is analyzed afterwards.
MANY = 5_000


class Insert(NamedTuple):
    """New rows of a table that assigns numbers to names.

    `into` is the table and its columns, as COPY expects them; the last columns are `id` and `application_id`.
    """

    into: str
    rows: pl.DataFrame


class RelationChange(NamedTuple):
    relation: Relation
    difference: Difference


class ChangeSet:
    def __init__(self, state: CurrentState, number: int) -> None:
        self.state = state
        self.number = number
        self.inserts: list[Insert] = []
        self.changes: list[RelationChange] = []
        # How many rows of each file change something, by content and number of the file.
        self.applied: dict[Content, dict[int, int]] = {}
        # The permissions of removed lines that no added line contains. Those without a holder are removed at the end.
        self.maybe_unused: list[int] = []

    def insert(self, into: str, rows: pl.DataFrame) -> None:
        application = pl.lit(str(self.state.application_id)).alias("application_id")
        self.inserts.append(Insert(into, rows.with_columns(ordered_ids(rows.height), application)))

    def change(self, relation: Relation, change: Difference, indexes: dict[str, NameIndex]) -> None:
        """Add a difference. If its frames lack a key column, add the column with the numbers from `indexes`."""
        for column, index in indexes.items():
            change = Difference(
                *(
                    part if column in part.columns else index.number(part.drop("number", strict=False), column)
                    for part in change
                )
            )
        self.changes.append(RelationChange(relation, change))

    def count(self, delta: DeltaPart, change: Difference) -> None:
        files = pl.concat([part.select("file") for part in (change.new, change.altered)])
        self.applied[delta.content] = dict(files.group_by("file").len().iter_rows())

    def added(self) -> Counter[str]:
        """Return the number of rows that are inserted into each table."""
        added = Counter({into.partition(" ")[0]: rows.height for into, rows in self.inserts})
        added.update({relation.table: change.new.height + change.altered.height for relation, change in self.changes})
        return added


def rows_of_lines(delta: DeltaPart, present: pl.DataFrame, name: list[str]) -> pl.DataFrame | Doubt:
    """Return the rows of `present` whose keys occur in changed lines.

    Return a Doubt if the key of a removed line is not in `present`. Also return one if the key of an added line is in
    `present` but in no removed line: then an unchanged line has the same key.
    """
    assert delta.removed is not None
    there = present.select(name)
    if delta.after.select(name).join(there, on=name, how="semi").join(delta.removed, on=name, how="anti").height:
        return Doubt(delta.content, "an added line has the same key as another line")
    if delta.removed.select(name).join(there, on=name, how="anti").height:
        return Doubt(delta.content, "a removed line is not part of the current data")
    return present.join(delta.mentioned(*name), on=name, how="semi")


def union(frames: Iterable[pl.DataFrame], column: str) -> pl.DataFrame:
    found = list(frames)
    return pl.concat(found).unique() if found else pl.DataFrame(schema={column: pl.String})


def ordered_ids(count: int) -> pl.Series:
    """Generate UUIDv7s in order, so that an index appends them instead of spreading them over its pages.

    A volatile column default would generate them too, but COPY would then insert rows one by one.
    """
    time_part = f"{time.time_ns() // 1_000_000:012x}"
    digits = secrets.token_hex(9 * count)
    each = (digits[start : start + 18] for start in range(0, len(digits), 18))
    return pl.Series("id", [f"{time_part}7{of[:3]}a{of[3:]}" for of in each], pl.String).sort()
