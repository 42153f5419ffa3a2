"""Compare a file of people with the versions of identities that earlier imports of the application wrote."""

from collections import Counter
from typing import NamedTuple
from uuid import UUID

import polars as pl

from rolecall.application_imports.compare.change_set import rows_of_lines
from rolecall.application_imports.compare.copying import copy_out
from rolecall.application_imports.compare.diff import Difference, difference
from rolecall.application_imports.read.file_delta import Doubt, FileDelta
from rolecall.core.db import Db


class PeopleChanges(NamedTuple):
    """The changes in the data of an identity source. `before` has the current versions that were compared."""

    before: pl.DataFrame
    difference: Difference
    # The fields that every file has a column for; other fields of an identity keep their values.
    fields: set[str]

    @property
    def applied(self) -> dict[int, int]:
        """Return, for each file, how many of its rows change something."""
        return dict(self.difference.opened.group_by("file").len().iter_rows())

    def added(self) -> Counter[str]:
        """Return an upper bound for the number of new rows of each table."""
        return Counter(dict.fromkeys(("identities", "identity_versions"), self.difference.opened.height))


async def compare_people(db: Db, application_id: UUID, delta: FileDelta) -> PeopleChanges | Doubt:
    fields, people = sorted(delta.columns - {"employee_id"}), delta.part()
    after = people.after.with_columns(fields=pl.struct(fields).struct.json_encode())
    known = await copy_out(
        db,
        """SELECT employee_id, identity_id, fields FROM identity_versions
           WHERE application_id = %(application)s AND until_import IS NULL""",
        ["employee_id", "identity_id", "fields"],
        application=application_id,
    )
    before = known if people.is_whole else rows_of_lines(people, known, ["employee_id"])
    if isinstance(before, Doubt):
        return before
    return PeopleChanges(before, difference(before, after, ["employee_id"], ["fields"]), set(fields))
