"""Count what an import changed, from the intervals that it opened and closed."""

from uuid import UUID

import msgspec

from rolecall.application_imports.model import RELATIONS, RecordKind, Relation, Tallies, Tally
from rolecall.applications.shapes import Changes, Metrics, PermissionChanges
from rolecall.core.db import Db, execute, fetch_one, fetch_rows, fetch_value


class RecordTotals(msgspec.Struct):
    """The number of records of each kind that an application has."""

    accounts: int = 0
    groups: int = 0
    memberships: int = 0
    permissions: int = 0
    assignments: int = 0
    identities: int = 0

    def of(self, kind: RecordKind) -> int:
        return int(getattr(self, PLURALS[kind]))

    def plus(self, tallies: Tallies) -> "RecordTotals":
        return RecordTotals(*(self.of(kind) + tallies[kind].new - tallies[kind].removed for kind in PLURALS))


PLURALS = {
    RecordKind.ACCOUNT: "accounts",
    RecordKind.GROUP: "groups",
    RecordKind.MEMBERSHIP: "memberships",
    RecordKind.PERMISSION: "permissions",
    RecordKind.ASSIGNMENT: "assignments",
    RecordKind.IDENTITY: "identities",
}


async def totals_before(db: Db, application_id: UUID) -> RecordTotals:
    found = await fetch_one(
        db,
        RecordTotals,
        f"SELECT {', '.join(RecordTotals.__struct_fields__)} FROM application_totals WHERE application_id = %(id)s",
        id=application_id,
    )
    return found or RecordTotals()


async def has_totals(db: Db, application_id: UUID) -> bool:
    """Return whether any import of the application has finished, even an empty one."""
    sql = "SELECT EXISTS (SELECT FROM application_totals WHERE application_id = %(id)s)"
    return bool(await fetch_value(db, sql, id=application_id))


async def rejected_before(db: Db, application_id: UUID) -> int:
    """Return how many rows the last finished import of the application rejected."""
    sql = """SELECT (SELECT sum((file ->> 'rejected')::int) FROM jsonb_array_elements(r.totals) AS file)
             FROM application_imports i JOIN import_runs r ON r.import_id = i.id
             WHERE i.application_id = %(id)s AND i.status = 'Finished' ORDER BY i.number DESC LIMIT 1"""
    return int(await fetch_value(db, sql, id=application_id) or 0)


def no_changes() -> Tallies:
    return {kind: Tally() for kind in RecordKind}


async def count_changes(db: Db, number: int) -> Tallies:
    return {relation.kind: await _tally(db, relation, number) for relation in RELATIONS if relation.kind}


async def _tally(db: Db, relation: Relation, number: int) -> Tally:
    since, until = (f"FROM {relation.table} WHERE {column} = {number:d}" for column in ("from_import", "until_import"))
    [(opened, closed)] = await fetch_rows(db, f"SELECT (SELECT count(*) {since}), (SELECT count(*) {until})")
    altered = 0
    if opened and closed:
        # Use INTERSECT instead of a join: the planner has no statistics on the new rows and would use nested loops.
        key = ", ".join(relation.key)
        [(altered,)] = await fetch_rows(
            db, f"SELECT count(*) FROM (SELECT {key} {since} INTERSECT SELECT {key} {until}) AS altered"
        )
    return Tally(opened - altered, altered, closed - altered)


async def count_touched(db: Db, number: int, before: RecordTotals, tallies: Tallies) -> Tallies:
    """Return the tallies for the log and the metrics: an account or group with changed access counts as altered."""
    # Without earlier accounts and groups, nothing can be altered.
    if not (before.accounts or before.groups) or not any(tally.total for tally in tallies.values()):
        return tallies
    altered = {kind: await _altered(db, number, kind) for kind in (RecordKind.ACCOUNT, RecordKind.GROUP)}
    return tallies | {kind: msgspec.structs.replace(tallies[kind], altered=count) for kind, count in altered.items()}


# SQL for the accounts or groups whose access an import changed. New or removed members do not alter a group.
_TOUCHED = {
    RecordKind.ACCOUNT: """
        SELECT account_number FROM memberships WHERE from_import = %(n)s
        UNION SELECT account_number FROM memberships WHERE until_import = %(n)s
        UNION SELECT holder_number FROM assignments WHERE from_import = %(n)s
        UNION SELECT holder_number FROM assignments WHERE until_import = %(n)s""",
    RecordKind.GROUP: """
        SELECT holder_number FROM assignments WHERE from_import = %(n)s
        UNION SELECT holder_number FROM assignments WHERE until_import = %(n)s""",
}


async def _altered(db: Db, number: int, kind: RecordKind) -> int:
    """Count accounts or groups that exist before and after the import, and whose fields or access it changed."""
    versions, column = f"{kind.lower()}_versions", f"{kind.lower()}_number"
    rows = await fetch_rows(
        db,
        f"""WITH touched(number) AS MATERIALIZED ({_TOUCHED[kind]}
                 UNION SELECT {column} FROM {versions} WHERE from_import = %(n)s)
            SELECT count(*) FROM touched t
            WHERE EXISTS (SELECT FROM {versions} v WHERE v.{column} = t.number AND v.until_import IS NULL)
            AND EXISTS (SELECT FROM {versions} v WHERE v.{column} = t.number AND v.from_import < %(n)s
                        AND (v.until_import IS NULL OR v.until_import = %(n)s))""",
        n=number,
    )
    return int(rows[0][0])


def metrics_of(after: RecordTotals, tallies: Tallies, *, is_identity_source: bool) -> Metrics:
    def changes(kind: RecordKind) -> Changes:
        tally = tallies[kind]
        return Changes(after.of(kind), tally.new, tally.altered, tally.removed)

    users = changes(RecordKind.IDENTITY if is_identity_source else RecordKind.ACCOUNT)
    permissions = PermissionChanges(after.permissions, tallies[RecordKind.PERMISSION].new)
    return Metrics(users, changes(RecordKind.GROUP), permissions)


async def update_value_counts(db: Db, number: int) -> None:
    """Update the number of holders for each value of a permission; holders with access None or Deny do not count."""
    # Insert in primary key order, which is faster.
    await execute(
        db,
        """INSERT INTO permission_values AS v (permission_number, access, digest, value, holders)
           SELECT permission_number, access, md5(value), value, sum(holders) FROM (
               SELECT permission_number, access, value, 1 AS holders FROM assignments WHERE from_import = %(number)s
               UNION ALL
               SELECT permission_number, access, value, -1 FROM assignments WHERE until_import = %(number)s
           ) AS changed WHERE value <> '' AND access NOT IN ('None', 'Deny')
           GROUP BY 1, 2, 4 HAVING sum(holders) <> 0 ORDER BY 1, 2, 3
           ON CONFLICT (permission_number, access, digest) DO UPDATE SET holders = v.holders + EXCLUDED.holders""",
        number=number,
    )
    # Remove values without holders. Otherwise the table would grow with each import if values change often.
    await execute(
        db,
        """DELETE FROM permission_values WHERE holders <= 0 AND permission_number IN
           (SELECT permission_number FROM assignments WHERE until_import = %(number)s)""",
        number=number,
    )
