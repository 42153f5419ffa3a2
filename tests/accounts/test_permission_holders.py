"""Compare the stored arrays of holders with the assignments."""

import random

from rolecall.core.db import Db, execute, fetch_rows

HOLDERS, IMPORTS = range(1, 9), range(1, 13)
_THEN = """SELECT holder_number, access::text, from_import FROM assignments WHERE permission_number = 1
           AND from_import <= %(as_of)s AND (until_import IS NULL OR until_import > %(as_of)s) ORDER BY 1, 3"""
_CLOSE = """UPDATE assignments SET until_import = %(run)s
            WHERE permission_number = 1 AND until_import IS NULL AND holder_number = ANY(%(holders)s)"""
_OPEN = """INSERT INTO assignments SELECT h, 1, (ARRAY['Grant', 'Modify', 'Deny'])[1 + (h + %(run)s) %% 3]::access,
                  %(run)s, NULL, ''
           FROM unnest(%(holders)s::int[]) AS h WHERE NOT EXISTS (
               SELECT FROM assignments s WHERE s.holder_number = h AND s.until_import IS NULL)"""


async def test_holders_after_each_import_equal_the_assignments(db: Db) -> None:
    chance = random.Random(3)
    for run in IMPORTS:
        # Some assignments end and begin again in the same import.
        for change in (_CLOSE, _OPEN):
            await execute(db, change, run=run, holders=chance.sample(HOLDERS, 4))

    for as_of in (0, *IMPORTS, IMPORTS.stop):
        found = await fetch_rows(
            db, "SELECT holder_number, access::text, from_import FROM assignments_of(1, %(n)s) ORDER BY 1, 3", n=as_of
        )
        assert found == await fetch_rows(db, _THEN, as_of=as_of)


async def test_holders_at_any_time_have_the_start_and_end_of_each_assignment(db: Db) -> None:
    columns = "holder_number, access::text, from_import, until_import"
    for run, holders in enumerate(([1, 2], [2, 3], [1]), start=1):
        await execute(db, _OPEN, run=2 * run - 1, holders=holders)
        await execute(db, _CLOSE, run=2 * run, holders=[1])

    found = await fetch_rows(db, f"SELECT {columns} FROM assignments_of(1, NULL) ORDER BY 1, 3")

    assert found == await fetch_rows(db, f"SELECT {columns} FROM assignments ORDER BY 1, 3")
    assert [(row[0], *row[2:]) for row in found] == [(1, 1, 2), (1, 5, 6), (2, 1, None), (3, 3, None)]
