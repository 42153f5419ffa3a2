"""Read access requests: lists, details, stalled requests and leftover accounts."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from msgspec.structs import replace

from rolecall.access_requests.model import DESCRIPTIONS, Response
from rolecall.access_requests.shapes import (
    AccessModelReference,
    AccessRequestDetail,
    AccessRequestItem,
    AccessRequestSummary,
    DetailTarget,
    ItemTarget,
    LeftoverItem,
    Privilege,
    RelatedItemReference,
    RequestConflict,
    RequestConflicts,
    Requirement,
    ReviewerResponse,
    Rule,
    StalledItem,
    SummaryTarget,
)
from rolecall.accounts.model import Pair
from rolecall.applications.queries import SUMMARY_COLUMNS, SUMMARY_WIDTH, summary_from_row
from rolecall.core.batching import get_one
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value, json_rows
from rolecall.core.paging import Listing, Page, Whole, fetch_listed, fetch_page, whole
from rolecall.identities import queries as identities
from rolecall.settings.policy import RequestAction, RequirementType
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.queries import History, grouped, history_of
from rolecall.work_items.shapes import PersonReference, person

_OWN = """
    r.id, r.number, r.action, r.status, r.reporter_id, r.reporter_name, r.assignee_id, r.assignee_name,
    r.target_type, r.target_name, r.nomenclature, r.scheduled_start, r.started_on, r.approved_on, r.resolved_on,
    r.verified_on, r.completed_on, r.canceled_on"""
_OWN_WIDTH = 18
_COLUMNS = f"{_OWN}, {identities.COLUMNS}, {SUMMARY_COLUMNS}"
_WIDTH = _OWN_WIDTH + identities.WIDTH + SUMMARY_WIDTH
_JOINS = f"""LEFT JOIN identities i ON i.id = r.identity_id {identities.SUPERVISOR}
             JOIN applications a ON a.id = r.application_id"""

R = TypeVar("R")


def _request(row: Sequence[Any], make: Callable[..., R], target: Callable[..., object], *rest: object) -> R:
    id, number, action, status, reporter_id, reporter, assignee_id, assignee = row[:8]
    type, name, nomenclature, *dates = row[8:_OWN_WIDTH]
    identity = row[_OWN_WIDTH : _OWN_WIDTH + identities.WIDTH]
    return make(
        id,
        "Access Request",
        number,
        action,
        status,
        PersonReference(reporter_id, reporter),
        person(assignee_id, assignee),
        target(
            type,
            name,
            nomenclature if type == "Group" else msgspec.UNSET,
            identities.from_row(identity) if identity[0] else None,
            summary_from_row(row[_OWN_WIDTH + identities.WIDTH : _WIDTH]),
        ),
        *dates,
        *rest,
    )


def _item(row: Sequence[Any]) -> AccessRequestItem:
    return _request(row, AccessRequestItem, ItemTarget)


ACCESS_REQUESTS = Listing(
    table="access_requests",
    row="r",
    columns=_COLUMNS,
    joins=_JOINS,
    make=_item,
    facets=("application_id", "status", "action"),
    newest_first=True,
)


LISTED = f"{_COLUMNS} FROM access_requests r {_JOINS}"
item_from_row = _item


async def items(db: Db, ids: Sequence[UUID]) -> list[AccessRequestItem]:
    """Return requests as list items, newest first."""
    rows = await fetch_rows(db, f"SELECT {LISTED} WHERE r.id = ANY(%(ids)s) ORDER BY r.list_key DESC", ids=list(ids))
    return [_item(row) for row in rows]


def of_event(event_id: UUID) -> Whole[AccessRequestItem]:
    """List the requests of a personnel event in number order, for an export."""
    return whole(
        _item,
        f"""SELECT {LISTED} WHERE r.id IN (SELECT request_id FROM related_items WHERE item_id = %(id)s)
            ORDER BY r.number""",
        id=event_id,
    )


async def newest_first(
    db: Db,
    page: int,
    *,
    identity_id: UUID | None = None,
    application_id: UUID | None = None,
    status: WorkStatus | None = None,
    action: RequestAction | None = None,
) -> Page[AccessRequestItem]:
    filters = {"identity_id": identity_id, "application_id": application_id, "status": status, "action": action}
    return await fetch_listed(db, ACCESS_REQUESTS, page, **filters)


async def get(db: Db, id: str | UUID) -> AccessRequestDetail:
    return await get_one(db, "AccessRequest", by_id, id)


async def conflicts_of(db: Db, id: UUID) -> RequestConflicts:
    """Return the conflicts that a request would create (as of the last check), and why the request is postponed."""
    found = await fetch_all(
        db,
        RequestConflict,
        """SELECT c.rule_id, c.rule, c.risk, c.response, c.duties, coalesce((
                  SELECT jsonb_agg(DISTINCT jsonb_build_object('id', a.reviewer_id, 'name', a.reviewer_name))
                  FROM request_conflict_people p JOIN responses a
                    ON a.request_id = p.request_id AND a.type = 'Approve' AND a.rule = p.requirement
                  WHERE p.request_id = c.request_id AND p.rule_id = c.rule_id AND r.status = 'Pending'
                    AND NOT EXISTS (SELECT FROM responses g WHERE g.request_id = a.request_id AND g.type = a.type
                                    AND g.rule = a.rule AND g.response <> 'Pending')), '[]') AS waiting_for
           FROM request_conflicts c JOIN access_requests r ON r.id = c.request_id
           WHERE c.request_id = %(id)s ORDER BY risk_rank(c.risk) DESC, c.rule""",
        id=id,
    )
    waits: str | None = await fetch_value(
        db,
        """SELECT a.content FROM access_requests r JOIN activity a ON a.item_id = r.id
           WHERE r.id = %(id)s AND r.postponed_until IS NOT NULL AND r.status IN ('Scheduled', 'Snoozed')
             AND a.action IN ('Postponed', 'Snoozed') AND a.author = %(system)s
           ORDER BY a.created_date DESC LIMIT 1""",
        id=id,
        system=SYSTEM.name,
    )
    return RequestConflicts(found, waits)


async def by_id(db: Db, ids: Sequence[UUID]) -> dict[UUID, AccessRequestDetail]:
    return {found.id: found for found in await details(db, ids)}


class _StoredResponse(msgspec.Struct):
    type: RequirementType
    rule: int
    reason: str
    reviewer: PersonReference
    response: Response
    stand_in: PersonReference | None


class _RequestParts(History):
    privileges: list[Privilege]
    metadata: list[Pair]
    responses: list[_StoredResponse]
    related_items: list[RelatedItemReference]
    access_models: list[AccessModelReference]


_read_parts = msgspec.json.Decoder(_RequestParts).decode
_PRIVILEGES = """
    initial_access AS "initialAccess", requested_access AS "requestedAccess", approved_access AS "approvedAccess",
    json_build_object('header', header, 'section', section, 'permission', permission, 'description', description,
                      'riskRating', risk_rating, 'metadata', metadata, 'value', value) AS permission,
    sources, origins FROM privileges WHERE request_id = r.id ORDER BY position"""
_RESPONSES = """
    type, rule, reason, json_build_object('id', reviewer_id, 'name', reviewer_name) AS reviewer, response,
    CASE WHEN stand_in_id IS NOT NULL THEN json_build_object('id', stand_in_id, 'name', stand_in_name) END AS stand_in
    FROM responses WHERE request_id = r.id ORDER BY type, rule, position"""
_RELATED_ITEMS = "item_id AS id, kind, number, status FROM related_items WHERE request_id = r.id ORDER BY kind, number"
# Return the parts as one JSON document, so that one statement reads the details of several requests.
_DETAILS = f"""
    SELECT {_COLUMNS}, json_build_object(
        'privileges', {json_rows(_PRIVILEGES)}, 'metadata', r.metadata, 'responses', {json_rows(_RESPONSES)},
        'relatedItems', {json_rows(_RELATED_ITEMS)}, 'accessModels', r.access_models, {history_of("r.id")})::text
    FROM access_requests r {_JOINS} WHERE r.id = ANY(%(ids)s) ORDER BY r.number"""


async def details(db: Db, ids: Sequence[UUID]) -> list[AccessRequestDetail]:
    """Return the details of requests, in number order."""
    return [_detail(row) for row in await fetch_rows(db, _DETAILS, ids=list(ids))]


def _detail(row: Sequence[Any]) -> AccessRequestDetail:
    parts = _read_parts(row[_WIDTH])

    def target(*shared: Any) -> DetailTarget:
        return DetailTarget(*(*shared, parts.privileges, parts.metadata))

    is_over = row[3] in (WorkStatus.COMPLETED, WorkStatus.CANCELED)
    requirements = [
        Requirement(type, DESCRIPTIONS[type], _rules(asked, is_over=is_over))
        for type, asked in groupby(parts.responses, key=attrgetter("type"))
    ]
    rest = (parts.activity, parts.comments, parts.related_items, requirements, parts.access_models)
    return _request(row, AccessRequestDetail, target, *rest)


def _rules(responses: Iterable[_StoredResponse], *, is_over: bool) -> list[Rule]:
    """Group responses by rule. A finished request no longer waits, so its pending reviewers are omitted."""

    def shown(asked: Iterable[_StoredResponse]) -> list[ReviewerResponse]:
        return [
            ReviewerResponse(each.reviewer, each.response, each.stand_in or msgspec.UNSET)
            for each in asked
            if not (is_over and each.response == Response.PENDING)
        ]

    return [Rule(reason, shown(asked)) for (_, reason), asked in groupby(responses, key=attrgetter("rule", "reason"))]


async def summaries_by_stage(db: Db, event_ids: Sequence[UUID]) -> dict[tuple[UUID, str], list[AccessRequestSummary]]:
    """Return the requests of personnel events, grouped by event and stage name, in number order."""
    rows = await fetch_rows(
        db,
        f"""SELECT {_COLUMNS}, l.item_id, l.stage
            FROM related_items l JOIN access_requests r ON r.id = l.request_id {_JOINS}
            WHERE l.item_id = ANY(%(ids)s) ORDER BY r.number""",
        ids=list(event_ids),
    )
    return grouped(((row[_WIDTH:], row) for row in rows), _summary)


def _summary(row: Sequence[Any]) -> AccessRequestSummary:
    def target(type: Any, name: str, _: object, *rest: Any) -> SummaryTarget:
        return SummaryTarget(type, name, *rest)

    return _request(row, AccessRequestSummary, target)


async def is_unmet(db: Db, id: UUID, type: RequirementType) -> bool:
    """Return whether a rule of this type is still open; one reviewer is enough to meet a rule."""
    unmet = await fetch_rows(
        db,
        """SELECT rule FROM responses WHERE request_id = %(id)s AND type = %(type)s
           GROUP BY rule HAVING bool_and(response <> 'Approved') LIMIT 1""",
        id=id,
        type=type,
    )
    return bool(unmet)


# The reviewers and reasons of the rules that are not met yet in the current status.
_UNMET = """
    SELECT json_agg(json_build_array(p.reviewer_id, p.reviewer_name) ORDER BY p.rule, p.position) AS reviewers,
           array_agg(DISTINCT p.reason) AS reasons
    FROM responses p
    WHERE p.request_id = r.id AND p.response = 'Pending'
      AND p.type = CASE r.status WHEN 'Pending' THEN 'Approve' WHEN 'Open' THEN 'Resolve' ELSE 'Verify' END
      AND NOT EXISTS (SELECT FROM responses met WHERE met.request_id = p.request_id AND met.rule = p.rule
                                                  AND met.response = 'Approved')"""


def _stalled_item(row: Sequence[Any]) -> StalledItem:
    item, (since, reviewers, reasons) = _item(row[:_WIDTH]), row[_WIDTH:]
    asked = {id: PersonReference(UUID(id), name) for id, name in reviewers or ()}
    return StalledItem(
        item.id,
        item.kind,
        item.number,
        item.action,
        item.status,
        item.target,
        # An open request waits for its assignee, if it has one.
        [item.assignee] if item.assignee and item.status == WorkStatus.OPEN else list(asked.values()),
        waiting_since=since,
        # A placeholder: `stalled` computes the days from the current time.
        waiting_days=0,
        reasons=reasons or [],
    )


WAITING = Listing(
    table="waiting_requests",
    row="w",
    columns=f"{_COLUMNS}, r.status_since, unmet.reviewers, unmet.reasons",
    joins=f"JOIN access_requests r ON r.id = w.request_id {_JOINS} LEFT JOIN LATERAL ({_UNMET}) AS unmet ON true",
    make=_stalled_item,
)


# Start from inactive identities, because they are few.
_LEFTOVERS = f"""
    FROM identities i {identities.SUPERVISOR} JOIN accounts c ON c.identity_id = i.id
    JOIN account_versions v ON v.account_number = c.number AND v.until_import IS NULL AND v.is_active
    JOIN applications a ON a.id = c.application_id AND NOT a.is_archived
    WHERE i.status <> 'Active' AND NOT EXISTS (
        SELECT FROM access_requests r WHERE r.application_id = c.application_id AND r.target_name = c.username
        AND r.target_type = 'User' AND r.action = 'Remove' AND r.is_whole
        AND r.status NOT IN ('Completed', 'Canceled'))"""


def _leftover(row: Sequence[Any]) -> LeftoverItem:
    id, username, *rest = row
    application = summary_from_row(rest[identities.WIDTH :])
    return LeftoverItem(id, "Account", username, application, identities.from_row(rest[: identities.WIDTH]))


async def leftovers(db: Db, page: int) -> Page[LeftoverItem]:
    """List active accounts of inactive identities, by application and username.

    Leave out accounts that an open request removes as a whole.
    """
    return await fetch_page(
        db,
        _leftover,
        page,
        total=f"SELECT count(*) {_LEFTOVERS}",
        items=f"""SELECT c.id, c.username, {identities.COLUMNS}, {SUMMARY_COLUMNS}
                  {_LEFTOVERS} ORDER BY a.name_key, a.id, c.username""",
    )


async def stalled(db: Db, page: int, now: datetime) -> Page[StalledItem]:
    found = await fetch_listed(db, WAITING, page)
    return found.map(lambda item: replace(item, waiting_days=(now - item.waiting_since).days))
