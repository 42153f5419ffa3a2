"""Compute the matrix of duties and the number of conflicts over time, and list exceptions that a person can approve."""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.conflicts import queries
from rolecall.conflicts.approving import approver_among, approvers_of
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value


class MatrixCell(msgspec.Struct, frozen=True):
    """Two duties that a rule keeps apart, with the numbers of open and excepted conflicts of people who hold both."""

    lower: UUID
    upper: UUID
    rule_id: UUID
    rule: str
    risk: str
    open: int
    excepted: int


class MatrixDuty(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    people: int


class DutyMatrix(msgspec.Struct, frozen=True):
    """The duties of rules in effect, ordered by name, and a cell for each pair that a rule keeps apart.

    If several rules keep a pair apart, the cell shows the riskiest rule with conflicts or, if no rule has conflicts,
    the riskiest rule.
    """

    duties: list[MatrixDuty]
    cells: dict[tuple[UUID, UUID], MatrixCell]


# Read each pair once, in the order of the names.
_CELLS = """{before}
    SELECT a.id AS lower, b.id AS upper, r.id AS rule_id, r.name AS rule, r.definition ->> 'risk' AS risk,
           count(*) FILTER (WHERE c.status = 'Open') AS open, count(*) FILTER (WHERE c.status = 'Excepted') AS excepted
    FROM duty_rules r JOIN duty_rule_duties x ON x.rule_id = r.id AND NOT x.is_control
    JOIN duty_rule_duties y ON y.rule_id = r.id AND NOT y.is_control
    JOIN duties a ON a.id = x.duty_id JOIN duties b ON b.id = y.duty_id AND (b.name_key, b.id) > (a.name_key, a.id)
    LEFT JOIN (
        {conflicts} c JOIN {holders} h ON h.identity_id = c.identity_id
        JOIN {holders} k ON k.identity_id = c.identity_id
    ) ON c.rule_id = r.id AND c.until IS NULL AND h.duty_id = a.id AND k.duty_id = b.id
    GROUP BY a.id, b.id, r.id ORDER BY count(c.status) > 0, risk_rank(r.definition ->> 'risk')"""


# The conflicts at a past time, and the duties that the people in conflict held.
_BEFORE = f"""WITH past AS MATERIALIZED ({queries.CONFLICTS_THEN}), held AS MATERIALIZED (
    SELECT s.duty_id, s.identity_id FROM duty_spans(
        ARRAY(SELECT duty_id FROM duty_rule_duties), ARRAY(SELECT DISTINCT identity_id FROM past)) AS s
    WHERE s.during @> %(moment)s::timestamptz)"""


async def matrix(db: Db, moment: datetime | None = None) -> DutyMatrix:
    """Count the people in conflict for each pair of duties, now or at a past time.

    The pairs of duties and the number of people who hold each duty are always the current ones.
    """
    then = {"before": _BEFORE, "conflicts": "past", "holders": "held"}
    now = {"before": "", "conflicts": "conflicts", "holders": "duty_holders"}
    cells = await fetch_all(db, MatrixCell, _CELLS.format(**(then if moment else now)), moment=moment)
    duties = await fetch_all(
        db,
        MatrixDuty,
        """SELECT d.id, d.name, (SELECT count(*) FROM duty_holders h WHERE h.duty_id = d.id) AS people FROM duties d
           WHERE d.id IN (SELECT duty_id FROM duty_rule_duties WHERE NOT is_control) ORDER BY d.name_key, d.id""",
    )
    # If several rules keep a pair apart, use the last cell: the query sorts rules with conflicts last, then by risk.
    return DutyMatrix(duties, {(cell.lower, cell.upper): cell for cell in cells})


async def counts_over_time(db: Db, start: datetime, now: datetime) -> list[tuple[datetime, int]]:
    """Return the number of conflicts at the start, unless it is 0, and after each change until now."""
    rows = await fetch_rows(
        db,
        """WITH moves AS (
               SELECT greatest(since, %(start)s) AS moment, 1 AS change FROM conflicts
               WHERE since <= %(now)s AND (until IS NULL OR until > %(start)s)
               UNION ALL SELECT until, -1 FROM conflicts WHERE until > %(start)s AND until <= %(now)s
           ), steps AS (SELECT moment, sum(change) AS change FROM moves GROUP BY moment)
           SELECT moment, sum(change) OVER (ORDER BY moment)::int FROM steps ORDER BY moment""",
        start=start,
        now=now,
    )
    return [(moment, count) for moment, count in rows]


async def open_count(db: Db) -> int:
    found: int = await fetch_value(db, "SELECT count(*) FROM conflicts WHERE status = 'Open'")
    return found


class WaitingException(msgspec.Struct, frozen=True):
    """An exception that is waiting for a person's approval; `represented` is the owner for whom they stand in."""

    conflict_id: UUID
    person: str
    rule: str
    represented: str | None


async def waiting_for(db: Db, caller: Caller) -> list[WaitingException]:
    """List the exceptions that a person can approve now, for themselves or as a stand-in, oldest first."""
    pending = await queries.pending_exceptions(db)
    found = []
    for (conflict_id, one), people in zip(pending, await approvers_of(db, [one for _, one in pending]), strict=True):
        if approver := approver_among(caller, people, one):
            represented = approver.name if approver.stand_in else None
            found.append(WaitingException(conflict_id, one.identity.name, one.rule.name, represented))
    return found
