"""Read conflicts and their exceptions. `sides.py` reads the access on each side of a conflict."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.conflicts.model import ApprovalPart, ExceptionStatus
from rolecall.conflicts.shapes import (
    ConflictDetail,
    ConflictException,
    ConflictItem,
    ConflictRule,
    ExceptionApproval,
    HeldSpan,
    RemovalRequest,
    Through,
)
from rolecall.conflicts.sides import groups_in_conflict, sides_of, through_of
from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value, json_rows
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Listing, Page, fetch_listed, fetch_page
from rolecall.duties import queries as duties
from rolecall.duties.model import ConflictStatus
from rolecall.duties.shapes import DutyReference
from rolecall.settings.policy import Level
from rolecall.work_items.shapes import ActivityEntry

# SQL for the rule as it was at {moment}, or as it is now if {moment} is null or before the first version.
# A version whose commit ended the conflict has the same time as the end of the conflict; `<` excludes it.
_JOINS_AT = """JOIN duty_rules r ON r.id = c.rule_id JOIN identities i ON i.id = c.identity_id
    CROSS JOIN LATERAL (SELECT coalesce((
        SELECT v.definition FROM duty_rule_versions v WHERE v.rule_id = r.id AND v.committed_at < {moment}
        ORDER BY v.version DESC LIMIT 1), r.definition, r.draft) AS definition) AS past"""
_JOINS = _JOINS_AT.format(moment="c.until")
_COLUMNS = f"""c.id, c.number, r.id, past.definition ->> 'name', past.definition ->> 'risk', {duties.PERSON},
    c.status, c.since, c.since_import, c.until, c.until_import"""
# The status of a conflict at a past time.
_STATUS_THEN = """CASE WHEN EXISTS (
        SELECT FROM conflict_exceptions e WHERE e.rule_id = c.rule_id AND e.identity_id = c.identity_id
        AND e.approved_on <= %(moment)s AND coalesce(e.ended_on, e.until) > %(moment)s)
    THEN 'Excepted' ELSE 'Open' END"""
# The conflicts at a past time. A conflict that ended later is shown as not ended.
CONFLICTS_THEN = f"""SELECT c.id, c.number, c.rule_id, c.identity_id, c.since, c.since_import,
    NULL::timestamptz AS until, NULL::int AS until_import, {_STATUS_THEN} AS status, c.list_key
    FROM conflicts c WHERE c.since <= %(moment)s AND (c.until IS NULL OR c.until > %(moment)s)"""
_NOTHING = Through([], [], [])


def _from_row(row: Sequence[Any]) -> ConflictItem:
    id, number, rule_id, rule, risk, *person, status, since, since_import, until, until_import = row
    about = ConflictRule(rule_id, rule, Level(risk))
    who, standing = duties.a_person(person), ConflictStatus(status)
    times = since, since_import, until, until_import
    return ConflictItem(id, "Conflict", number, about, who, standing, *times, _NOTHING)


CONFLICTS = Listing(
    table="conflicts",
    row="c",
    columns=_COLUMNS,
    joins=_JOINS,
    make=_from_row,
    facets=("status", "rule_id"),
    newest_first=True,
)


class ConflictFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Filters of conflicts; None means no filter."""

    status: ConflictStatus | None = None
    rule_id: UUID | None = None
    identity_id: UUID | None = None


async def newest_first(
    db: Db, page: int, filters: ConflictFilters, as_of: datetime | None = None
) -> Page[ConflictItem]:
    """List conflicts, newest first, now or as of a past time, each with the requests or models that gave the access."""
    if as_of is None:
        found = await fetch_listed(db, CONFLICTS, page, **msgspec.structs.asdict(filters))
    else:
        found = await _at(db, page, filters, as_of)
    return await _with_through(db, found, as_of)


async def _with_through(db: Db, found: Page[ConflictItem], as_of: datetime | None) -> Page[ConflictItem]:
    # Pass a function to `Page.completed`, because the items of an export are read later.
    async def complete(db: Db, items: Sequence[ConflictItem]) -> list[ConflictItem]:
        return [
            msgspec.structs.replace(item, through=through_of(sides))
            for item, sides in zip(items, await sides_of(db, items, as_of), strict=True)
        ]

    return await found.completed(db, complete)


async def _at(db: Db, page: int, filters: ConflictFilters, moment: datetime) -> Page[ConflictItem]:
    given = {name: value for name, value in msgspec.structs.asdict(filters).items() if value is not None}
    conditions = "".join(f" AND c.{name} = %({name})s" for name in given)
    return await fetch_page(
        db,
        _from_row,
        page,
        total=f"SELECT count(*) FROM ({CONFLICTS_THEN}) AS c WHERE true{conditions}",
        items=f"""SELECT {_COLUMNS} FROM ({CONFLICTS_THEN}) AS c {_JOINS_AT.format(moment="%(moment)s")}
                  WHERE true{conditions} ORDER BY c.list_key DESC""",
        moment=moment,
        **given,
    )


async def get(db: Db, id: str | UUID, now: datetime) -> ConflictDetail:
    known = known_guid("Conflict", str(id))
    rows = await fetch_rows(db, f"SELECT {_COLUMNS} FROM conflicts c {_JOINS} WHERE c.id = %(id)s", id=known)
    if not rows:
        raise NotFound("Conflict", id)
    (found,) = await _details(db, [_from_row(rows[0])], now)
    return found


async def _details(db: Db, items: Sequence[ConflictItem], now: datetime) -> list[ConflictDetail]:
    exceptions, activity = await _exceptions(db, items), await _activity(db, items)
    found = []
    for item, sides in zip(items, await sides_of(db, items, None), strict=True):
        known = msgspec.structs.replace(item, through=through_of(sides))
        fields = [getattr(known, name) for name in ConflictItem.__struct_fields__]
        days = ((item.until or now) - item.since).days
        given = exceptions[item.rule.id, item.identity.id]
        found.append(ConflictDetail(*(*fields, sides, groups_in_conflict(sides), days, given, activity[item.id])))
    return found


async def _activity(db: Db, items: Sequence[ConflictItem]) -> dict[UUID, list[ActivityEntry]]:
    rows = await fetch_rows(
        db,
        """SELECT item_id, created_date, author, action, content FROM activity
           WHERE item_id = ANY(%(ids)s) ORDER BY number""",
        ids=[item.id for item in items],
    )
    found = defaultdict[UUID, list[ActivityEntry]](list)
    for id, *entry in rows:
        found[id].append(ActivityEntry(*entry))
    return found


async def of_identity(db: Db, identity_id: UUID, now: datetime) -> list[ConflictDetail]:
    """Return all conflicts of a person, current and ended, oldest first."""
    sql = f"SELECT {_COLUMNS} FROM conflicts c {_JOINS} WHERE c.identity_id = %(id)s ORDER BY c.list_key"
    return await _details(db, [_from_row(row) for row in await fetch_rows(db, sql, id=identity_id)], now)


async def current_of(db: Db, people: Sequence[UUID]) -> dict[UUID, list[ConflictItem]]:
    """Return the current conflicts of people, newest first, without the requests and models that gave the access."""
    rows = await fetch_rows(
        db,
        f"""SELECT {_COLUMNS} FROM conflicts c {_JOINS} WHERE c.identity_id = ANY(%(people)s) AND c.until IS NULL
            ORDER BY c.list_key DESC""",
        people=list(people),
    )
    found: dict[UUID, list[ConflictItem]] = {id: [] for id in people}
    for item in map(_from_row, rows):
        found[item.identity.id].append(item)
    return found


async def concerning(db: Db, entitlement_id: UUID, most: int) -> tuple[int, list[ConflictItem]]:
    """Return the number of current conflicts to which an entitlement contributes a duty, and at most `most` of them.

    The newest conflicts come first.
    """
    # `EXISTS` avoids reading the holders of an entitlement that gives no duty.
    rows = await fetch_rows(
        db,
        f"""WITH given AS MATERIALIZED (
                SELECT d.duty_id FROM entitlements e JOIN duty_entitlements d ON d.kind = e.kind AND d.number = e.number
                WHERE e.id = %(id)s
                UNION SELECT d.duty_id FROM entitlements e JOIN duty_groups d ON d.group_number = e.number
                WHERE e.id = %(id)s AND e.kind = 'Group'
            ), holders AS MATERIALIZED (
                SELECT DISTINCT a.identity_id FROM holdings_of(%(id)s, now_import()) AS h
                JOIN accounts a ON a.number = h.account WHERE EXISTS (SELECT FROM given)
            )
            SELECT count(*) OVER (), {_COLUMNS} FROM conflicts c {_JOINS}
            WHERE c.until IS NULL AND c.identity_id IN (SELECT identity_id FROM holders) AND c.rule_id IN (
                SELECT rule_id FROM duty_rule_duties JOIN given USING (duty_id) WHERE NOT is_control)
            ORDER BY c.list_key DESC LIMIT %(most)s""",
        id=entitlement_id,
        most=most,
    )
    return (rows[0][0] if rows else 0), [_from_row(row[1:]) for row in rows]


async def spans_of(db: Db, item: ConflictItem) -> list[HeldSpan]:
    """Return when the person held each duty of the rule, according to the current patterns."""
    return await fetch_all(
        db,
        HeldSpan,
        """SELECT d.name, lower(r) AS since, upper(r) AS until FROM duties d JOIN duty_spans(
               ARRAY(SELECT n::uuid FROM duty_rules, jsonb_array_elements_text(definition -> 'conflicts') AS n
                     WHERE id = %(rule)s), ARRAY[%(identity)s::uuid]) AS s ON s.duty_id = d.id
           CROSS JOIN LATERAL unnest(s.during) AS r ORDER BY d.name_key, lower(r)""",
        rule=item.rule.id,
        identity=item.identity.id,
    )


async def conflict_spans(db: Db, item: ConflictItem) -> list[HeldSpan]:
    """Return the time spans of all conflicts of the same rule and person, oldest first."""
    return await fetch_all(
        db,
        HeldSpan,
        """SELECT 'Conflict' AS name, since, until FROM conflicts
           WHERE rule_id = %(rule)s AND identity_id = %(identity)s ORDER BY since, number""",
        rule=item.rule.id,
        identity=item.identity.id,
    )


async def removal_requests(db: Db, identity_id: UUID) -> list[RemovalRequest]:
    """Return the removals of a person's access that were requested and that imports cannot show yet, oldest first."""
    return await fetch_all(
        db,
        RemovalRequest,
        # A request without privileges removes or suspends the whole account.
        """SELECT r.id, r.number, r.application_id, r.target_name AS account, p.header, p.section, p.permission
           FROM access_requests r LEFT JOIN privileges p ON p.request_id = r.id
           WHERE r.identity_id = %(id)s AND is_unshown(r) AND r.status <> 'Canceled'
             AND coalesce(p.lowered_access, p.requested_access, 'None') IN ('None', 'Deny')
             AND (p.request_id IS NOT NULL OR r.action IN ('Remove', 'Suspend')) ORDER BY r.number""",
        id=identity_id,
    )


async def is_active(db: Db, identity_id: UUID) -> bool:
    sql = "SELECT EXISTS (SELECT FROM identities WHERE id = %(id)s AND status = 'Active')"
    active: bool = await fetch_value(db, sql, id=identity_id)
    return active


async def people_in_conflict(db: Db, rule_id: UUID) -> set[UUID]:
    rows = await fetch_rows(
        db, "SELECT identity_id FROM conflicts WHERE rule_id = %(rule)s AND until IS NULL", rule=rule_id
    )
    return {id for (id,) in rows}


async def people_by_rule(db: Db, duty_id: UUID) -> dict[DutyReference, set[UUID]]:
    """Return the people who are now in conflict, for each rule in effect that names this duty."""
    rows = await fetch_rows(
        db,
        """SELECT r.id, r.name, ARRAY(SELECT identity_id FROM conflicts c WHERE c.rule_id = r.id AND c.until IS NULL)
           FROM duty_rules r WHERE r.id IN (SELECT rule_id FROM duty_rule_duties WHERE duty_id = %(id)s)
           ORDER BY r.name_key, r.id""",
        id=duty_id,
    )
    return {DutyReference(id, name): set(people) for id, name, people in rows}


async def of_rule(db: Db, rule_id: UUID, page: int) -> Page[ConflictItem]:
    """List the current conflicts of a rule, newest first."""
    rows = f"FROM conflicts c {_JOINS} WHERE c.rule_id = %(rule)s AND c.until IS NULL"
    total, items = f"SELECT count(*) {rows}", f"SELECT {_COLUMNS} {rows} ORDER BY c.list_key DESC"
    return await _with_through(db, await fetch_page(db, _from_row, page, total=total, items=items, rule=rule_id), None)


_APPROVALS = json_rows(
    """p.part AS "as", p.approver_id, p.approver_name, p.approved_on, p.stand_in_id, p.stand_in_name
       FROM exception_approvals p WHERE p.exception_id = e.id ORDER BY p.position"""
)
_EXCEPTION = f"""e.id, e.number, e.conflict_id, r.id, r.name, coalesce(r.definition, r.draft) ->> 'risk',
    {duties.PERSON}, e.status, e.reason, e.control, o.id, o.first_name || ' ' || o.last_name, e.until, e.requested_by,
    e.requested_by_name, e.created_at, e.approved_on, e.ended_on, {_APPROVALS}"""
_EXCEPTION_JOINS = """JOIN duty_rules r ON r.id = e.rule_id JOIN identities i ON i.id = e.identity_id
    JOIN identities o ON o.id = e.control_owner_id"""


class _Approval(msgspec.Struct):
    # The JSON key is `as`, because a column `part` would shadow the table alias `part` that `json_rows` aggregates.
    part: ApprovalPart = msgspec.field(name="as")
    approver_id: UUID
    approver_name: str
    approved_on: datetime
    stand_in_id: UUID | None
    stand_in_name: str | None

    @property
    def shown(self) -> ExceptionApproval:
        stand_in = DutyReference(self.stand_in_id, self.stand_in_name or "") if self.stand_in_id else msgspec.UNSET
        approver = DutyReference(self.approver_id, self.approver_name)
        return ExceptionApproval(self.part, approver, self.approved_on, stand_in)


def _an_exception(row: Sequence[Any]) -> ConflictException:
    id, number, conflict_id, rule_id, rule, risk, *rest, approvals = row
    person, (status, reason, control, owner_id, owner, until, requester_id, requester, *times) = rest[:5], rest[5:]
    given = msgspec.convert(approvals, list[_Approval])
    about = ConflictRule(rule_id, rule, Level(risk)), duties.a_person(person), ExceptionStatus(status)
    agreed = reason, control, DutyReference(owner_id, owner), until, DutyReference(requester_id, requester)
    parts = [each.shown for each in given]
    return ConflictException(*(id, "Conflict Exception", number, conflict_id, *about, *agreed, *times, parts))


async def _exceptions(db: Db, items: Sequence[ConflictItem]) -> dict[tuple[UUID, UUID], list[ConflictException]]:
    """Return the exceptions for conflicts, for each rule and person, newest first."""
    rows = await fetch_rows(
        db,
        # An exception belongs to a rule and a person, so it also covers a conflict that ends and begins again.
        f"""SELECT {_EXCEPTION} FROM conflict_exceptions e {_EXCEPTION_JOINS}
            WHERE (e.rule_id, e.identity_id) IN (SELECT * FROM unnest(%(rules)s::uuid[], %(people)s::uuid[]))
            ORDER BY e.number DESC""",
        rules=[item.rule.id for item in items],
        people=[item.identity.id for item in items],
    )
    found = defaultdict[tuple[UUID, UUID], list[ConflictException]](list)
    for one in map(_an_exception, rows):
        found[one.rule.id, one.identity.id].append(one)
    return found


async def exceptions_at(db: Db, moment: datetime, page: int) -> Page[ConflictException]:
    """List the exceptions that were in force at a past time, newest first."""
    # An exception that is still in force has no `ended_on`, so use the date until which it was approved.
    then = "WHERE e.approved_on <= %(moment)s AND coalesce(e.ended_on, e.until) > %(moment)s"
    return await fetch_page(
        db,
        _an_exception,
        page,
        total=f"SELECT count(*) FROM conflict_exceptions e {then}",
        items=f"SELECT {_EXCEPTION} FROM conflict_exceptions e {_EXCEPTION_JOINS} {then} ORDER BY e.number DESC",
        moment=moment,
    )


async def exceptions(db: Db, page: int, statuses: Collection[ExceptionStatus]) -> Page[ConflictException]:
    """List the exceptions that have one of these statuses, newest first."""
    return await fetch_page(
        db,
        _an_exception,
        page,
        total="SELECT count(*) FROM conflict_exceptions WHERE status = ANY(%(statuses)s)",
        items=f"""SELECT {_EXCEPTION} FROM conflict_exceptions e {_EXCEPTION_JOINS}
                  WHERE e.status = ANY(%(statuses)s) ORDER BY e.number DESC""",
        statuses=list(statuses),
    )


async def pending_exceptions(db: Db) -> list[tuple[UUID, ConflictException]]:
    """List the pending exceptions, each with the current conflict of its rule and person."""
    # Do not join by `conflict_id`: the conflict may have ended and begun again since the exception was requested.
    rows = await fetch_rows(
        db,
        f"""SELECT c.id, {_EXCEPTION} FROM conflict_exceptions e {_EXCEPTION_JOINS}
            JOIN conflicts c ON c.rule_id = e.rule_id AND c.identity_id = e.identity_id AND c.until IS NULL
            WHERE e.status = 'Pending' ORDER BY e.number""",
    )
    return [(row[0], _an_exception(row[1:])) for row in rows]
