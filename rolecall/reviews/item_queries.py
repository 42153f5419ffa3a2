"""Read review items with the requests and models that explain them, their decisions, and what later imports showed."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Listing, Page, fetch_listed, fetch_page
from rolecall.effective_access.queries import APPROVERS, imports_by_number
from rolecall.effective_access.shapes import ImportReason, ModelReason, RequestApprover, RequestReason, Why
from rolecall.reviews import reason_lists
from rolecall.reviews.model import Decision, Drift, ItemFact, ItemSubject, ReviewItemStatus
from rolecall.reviews.queries import NAME
from rolecall.reviews.shapes import (
    Acceptance,
    DecisionEntry,
    ItemDrift,
    ItemPeers,
    NamedReference,
    PreviousDecision,
    Recommendation,
    ReviewItem,
    ReviewItemAccount,
    ReviewItemDetail,
    ReviewItemEntitlement,
    ReviewItemPerson,
    ReviewItemRequest,
)
from rolecall.settings.policy import Level
from rolecall.work_items.shapes import ActivityEntry, PersonReference

# SQL that is true if item `c` is about the group or permission `o`, which may have been renamed since.
IS_HELD = "o.id IN (c.entitlement_id, latest_self(c.entitlement_id))"
# The access that is held now, and the import that ended or replaced what was held when the review was opened.
_NOW = f"""
    LEFT JOIN LATERAL (
        SELECT 'Grant' AS access, m.from_import FROM memberships m JOIN groups o ON o.number = m.group_number
        WHERE c.subject = 'Access' AND {IS_HELD} AND m.account_number = c.account_number
          AND m.until_import IS NULL
        UNION ALL
        SELECT s.access::text, s.from_import FROM assignments s JOIN permissions o ON o.number = s.permission_number
        WHERE c.subject IN ('Access', 'Group') AND {IS_HELD}
          AND s.holder_number = coalesce(c.account_number, c.group_number) AND s.until_import IS NULL
          AND s.access NOT IN ('None', 'Deny')
        UNION ALL
        SELECT 'Grant', v.from_import FROM account_versions v
        WHERE c.subject = 'Account' AND v.account_number = c.account_number AND v.until_import IS NULL AND v.is_active
        UNION ALL
        SELECT 'Grant', lower(l.during) FROM parents_of(c.group_number) AS l JOIN groups o ON o.number = l.parent
        WHERE c.subject = 'Group' AND {IS_HELD} AND upper_inf(l.during)
        UNION ALL
        SELECT 'Grant', NULL WHERE c.subject = 'Model') AS held ON true
    LEFT JOIN LATERAL (
        SELECT m.until_import FROM memberships m JOIN groups o ON o.number = m.group_number
        WHERE c.subject = 'Access' AND o.id = c.entitlement_id AND m.account_number = c.account_number
          AND m.from_import = c.since_import
        UNION ALL
        SELECT s.until_import FROM assignments s JOIN permissions o ON o.number = s.permission_number
        WHERE c.subject IN ('Access', 'Group') AND o.id = c.entitlement_id
          AND s.holder_number = coalesce(c.account_number, c.group_number) AND s.from_import = c.since_import
        UNION ALL
        SELECT max(v.until_import) FROM account_versions v
        WHERE c.subject = 'Account' AND v.account_number = c.account_number HAVING max(v.until_import) IS NOT NULL
        LIMIT 1) AS ended ON true"""
_COLUMNS = f"""c.id, c.number, c.review_id, c.status, c.subject, c.application_id, o.name, c.identity_id,
    i.first_name || ' ' || i.last_name, i.title, i.department, i.status, a.id, a.username, v.is_active, v.last_login,
    g.id, g.name, c.entitlement_id, e.kind, e.header, e.section, e.name, e.display_name, e.description, e.risk_rating,
    e.is_privileged, c.model_id, w.name, c.access, c.since_import, c.request_ids, c.model_ids, c.facts,
    c.recommendation, c.peers, c.peers_holding, held.access, held.from_import, ended.until_import, c.stage,
    c.reviewer_id,
    {NAME.format(row="p")}, c.moved, c.is_carried, c.is_sample, c.decision, c.until, c.new_access, c.comment,
    c.decided_on, c.submission_id IS NOT NULL, q.id, q.number, q.status, c.remediated_on, c.remediated_import,
    c.reopened_on, c.reopened_import, c.accepted_until"""
_JOINS = f"""LEFT JOIN applications o ON o.id = c.application_id LEFT JOIN identities i ON i.id = c.identity_id
    LEFT JOIN accounts a ON a.number = c.account_number
    LEFT JOIN LATERAL (SELECT v.is_active, v.last_login FROM account_versions v
                       WHERE v.account_number = c.account_number ORDER BY v.from_import DESC LIMIT 1) AS v ON true
    LEFT JOIN groups g ON g.number = c.group_number LEFT JOIN entitlements e ON e.id = c.entitlement_id
    LEFT JOIN access_models w ON w.id = c.model_id LEFT JOIN identities p ON p.id = c.reviewer_id
    LEFT JOIN access_requests q ON q.id = c.request_id {_NOW}"""


class _Explained(msgspec.Struct, frozen=True):
    """An item with the ids of the requests and models that explain it."""

    item: ReviewItem
    request_ids: list[UUID]
    model_ids: list[UUID]


def _named(id: UUID | None, name: str | None) -> NamedReference | None:
    return NamedReference(id, name or "") if id else None


def _drift(subject: str, access: str, since: int | None, held: Sequence[Any]) -> ItemDrift:
    now, from_import, until = held
    if now is None:
        return ItemDrift(Drift.GONE, None, until)
    # An account gets a new version with each change of its data; that alone is not a change of access.
    is_other = now != access or (subject != ItemSubject.ACCOUNT and since is not None and from_import != since)
    return ItemDrift(Drift.CHANGED if is_other else Drift.UNCHANGED, Access(now), from_import if is_other else None)


def _from_row(row: Sequence[Any]) -> _Explained:
    id, number, review_id, status, subject, *about = row[:7]
    identity, account, entitlement, since = row[7:12], row[12:16], row[18:27], row[30]
    request_ids, model_ids, facts, verdict, peers, holding = row[31:37]
    named = [ItemFact(fact) for fact in facts]
    held = (
        _named(*about),
        ReviewItemPerson(*identity) if identity[0] else None,
        ReviewItemAccount(*account) if account[0] else None,
        _named(*row[16:18]),
        ReviewItemEntitlement(*(*entitlement[:7], Level(entitlement[7]), entitlement[8])) if entitlement[1] else None,
        _named(*row[27:29]),
        Access(row[29]),
        ImportReason(since, None) if since is not None else None,
        # `_completed` fills in the import, the requests and the models.
        Why(ImportReason(since or 0, None), [], []),
        named,
        Recommendation(Decision(verdict) if verdict else None, named),
        ItemPeers(peers, holding) if peers is not None else None,
        _drift(subject, row[29], since, row[37:40]),
    )
    words = (id, "Review Item", number, review_id, ReviewItemStatus(status), ItemSubject(subject))
    return _Explained(ReviewItem(*(*words, *held, *_decided(row[40:]))), request_ids, model_ids)


def _decided(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the last fields of a ReviewItem, beginning with `stage`."""
    stage, reviewer_id, reviewer, moved, is_carried, is_sample, decision, until, new_access = row[:9]
    comment, decided_on, is_submitted, *request = row[9:15]
    return (
        stage,
        PersonReference(reviewer_id, reviewer),
        moved,
        is_carried,
        is_sample,
        Decision(decision) if decision else None,
        until,
        Access(new_access) if new_access else None,
        comment,
        decided_on,
        is_submitted,
        [ReviewItemRequest(*(request[0], "Access Request", *request[1:]))] if request[0] else [],
        *row[15:],
    )


ITEMS: Listing[_Explained] = Listing(
    table="review_items",
    row="c",
    columns=_COLUMNS,
    joins=_JOINS,
    make=_from_row,
    facets=("review_id", "status", "reviewer_id", "application_id"),
)
BY_REASON: Listing[_Explained] = Listing(
    table="review_item_reasons",
    row="x",
    columns=_COLUMNS,
    joins=f"JOIN review_items c ON c.review_id = x.review_id AND c.list_key = x.list_key {_JOINS}",
    make=_from_row,
    facets=("review_id", "reason", "status", "reviewer_id", "application_id"),
)


class ItemFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Filters of a list of items; None means no filter."""

    status: ReviewItemStatus | None = None
    reviewer_id: UUID | None = None
    application_id: UUID | None = None
    identity_id: UUID | None = None
    reason: ItemFact | None = None

    def conditions(self) -> str:
        """Return SQL conditions on a row `c`; `given` returns their parameters."""
        given = {name for name, value in msgspec.structs.asdict(self).items() if value is not None}
        words = {name: f" AND c.{name} = %({name})s" for name in given}
        if self.reason is not None:
            words["reason"] = " AND c.facts @> ARRAY[%(reason)s]::text[]"
        return "".join(words[name] for name in sorted(words))

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


class BulkFilters(ItemFilters, frozen=True, kw_only=True):
    """Filters that select items for a bulk decision."""

    entitlement_id: UUID | None = None
    recommendation: Decision | None = None


async def items(db: Db, review_id: UUID, page: int, filters: ItemFilters) -> Page[ReviewItem]:
    """List the items of a review, ordered by person, application, account and risk."""
    given = filters.given()
    is_listed = filters.reason is None or await reason_lists.are_complete(db, review_id)
    if filters.identity_id is None and is_listed:
        listing = BY_REASON if filters.reason else ITEMS
        found = await fetch_listed(db, listing, page, review_id=review_id, **given)
    else:
        # The items of one person are few, so count them. Also count items by reason until the worker has stored the
        # reasons.
        rows = f"FROM review_items c WHERE c.review_id = %(review_id)s{filters.conditions()}"
        found = await fetch_page(
            db,
            _from_row,
            page,
            total=f"SELECT count(*) {rows}",
            items=f"SELECT {_COLUMNS} FROM (SELECT c.* {rows}) AS c {_JOINS} ORDER BY c.list_key",
            review_id=review_id,
            **given,
        )
    # `completed` turns `_Explained` rows into `ReviewItem`s; its type hints cannot express that.
    return await found.completed(db, _completed)  # type: ignore[return-value, arg-type]


async def _completed(db: Db, rows: Sequence[_Explained]) -> list[ReviewItem]:
    """Add the requests, models and imports to items, with one query for each kind."""
    requests = await _requests(db, {id for row in rows for id in row.request_ids})
    found = await fetch_rows(
        db,
        "SELECT id, name FROM access_models WHERE id = ANY(%(ids)s)",
        ids=list({id for row in rows for id in row.model_ids}),
    )
    models = {id: ModelReason(id, name, None, None, None) for id, name in found}
    imports = await imports_by_number(db, {row.item.since.number for row in rows if row.item.since})

    def complete(row: _Explained) -> ReviewItem:
        since = imports.get(row.item.since.number, row.item.since) if row.item.since else None
        asked = [requests[id] for id in row.request_ids if id in requests]
        why = Why(since or ImportReason(0, None), asked, [models[id] for id in row.model_ids if id in models])
        return msgspec.structs.replace(row.item, since=since, why=why)

    return [complete(row) for row in rows]


async def _requests(db: Db, ids: set[UUID]) -> dict[UUID, RequestReason]:
    rows = await fetch_rows(
        db,
        f"""SELECT r.id, r.number, r.action, coalesce(r.resolved_on, r.completed_on, r.created_at), r.completed_on,
                  {APPROVERS.format(request="r.id")}
           FROM access_requests r WHERE r.id = ANY(%(ids)s)""",
        ids=list(ids),
    )
    return {
        id: RequestReason(*(id, *rest, msgspec.convert(approvers or [], list[RequestApprover])))
        for id, *rest, approvers in rows
    }


async def items_by_id(db: Db, ids: Sequence[UUID]) -> list[ReviewItem]:
    """Return the items with these ids, ordered as in the list of the review."""
    sql = f"SELECT {_COLUMNS} FROM review_items c {_JOINS} WHERE c.id = ANY(%(ids)s) ORDER BY c.list_key"
    rows = await fetch_rows(db, sql, ids=list(ids))
    return await _completed(db, [_from_row(row) for row in rows])


async def review_of(db: Db, id: str) -> UUID:
    known = known_guid("Review item", id)
    rows = await fetch_rows(db, "SELECT review_id FROM review_items WHERE id = %(id)s", id=known)
    if not rows:
        raise NotFound("Review item", id)
    found: UUID = rows[0][0]
    return found


async def get_item(db: Db, id: str | UUID, *, lock: bool = False) -> ReviewItemDetail:
    """Get one item with its history. With `lock`, lock it and the items decided with it until the transaction ends."""
    known = known_guid("Review item", str(id))
    if lock:
        # Lock the items in the same order as a bulk decision does, to avoid deadlocks.
        sql = "SELECT FROM review_items WHERE id = %(id)s OR under_id = %(id)s ORDER BY list_key FOR UPDATE"
        await fetch_rows(db, sql, id=known)
    rows = await fetch_rows(db, f"SELECT {_COLUMNS} FROM review_items c {_JOINS} WHERE c.id = %(id)s", id=known)
    if not rows:
        raise NotFound("Review item", id)
    (item,) = await _completed(db, [_from_row(rows[0])])
    fields = [getattr(item, name) for name in ReviewItem.__struct_fields__]
    activity = await fetch_all(
        db,
        ActivityEntry,
        "SELECT created_date, author, action, content FROM activity WHERE item_id = %(id)s ORDER BY number",
        id=known,
    )
    history = await _previous(db, known), await _decisions(db, known), await _acceptance(db, known), activity
    return ReviewItemDetail(*(*fields, *history))


async def _previous(db: Db, item_id: UUID) -> PreviousDecision | None:
    rows = await fetch_rows(
        db,
        f"""SELECT b.number, r.name, b.decision, b.decided_on, b.reviewer_id, {NAME.format(row="i")}
            FROM review_items c JOIN review_items b ON b.id = c.previous_id JOIN reviews r ON r.id = b.review_id
            LEFT JOIN identities i ON i.id = b.reviewer_id WHERE c.id = %(id)s""",
        id=item_id,
    )
    if not rows:
        return None
    number, name, decision, decided_on, *reviewer = rows[0]
    return PreviousDecision(
        number, name, Decision(decision) if decision else None, decided_on, PersonReference(*reviewer)
    )


async def _decisions(db: Db, item_id: UUID) -> list[DecisionEntry]:
    rows = await fetch_rows(
        db,
        f"""SELECT d.stage, d.reviewer_id, {NAME.format(row="i")}, d.decision, d.until, d.new_access, d.comment,
                   d.decided_by_name, d.decided_on, d.bulk_id IS NOT NULL
            FROM review_decisions d LEFT JOIN identities i ON i.id = d.reviewer_id
            WHERE d.item_id = %(id)s ORDER BY d.number""",
        id=item_id,
    )
    return [
        DecisionEntry(
            stage,
            PersonReference(reviewer_id, name),
            Decision(decision) if decision else None,
            until,
            Access(access) if access else None,
            *rest,
        )
        for stage, reviewer_id, name, decision, until, access, *rest in rows
    ]


async def _acceptance(db: Db, item_id: UUID) -> Acceptance | None:
    rows = await fetch_rows(
        db,
        """SELECT reason, until, accepted_by, accepted_by_name, accepted_on FROM review_acceptances
           WHERE item_id = %(id)s ORDER BY number DESC LIMIT 1""",
        id=item_id,
    )
    if not rows:
        return None
    reason, until, *who, accepted_on = rows[0]
    return Acceptance(reason, until, PersonReference(*who), accepted_on)


async def find_item_by_number(db: Db, number: int) -> UUID:
    rows = await fetch_rows(db, "SELECT id FROM review_items WHERE number = %(number)s", number=number)
    if not rows:
        raise NotFound("Review item", f"#{number}")
    found: UUID = rows[0][0]
    return found
