"""Carry out the decisions of a review through requests. The decisions count as approvals of these requests."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.access_models.actions import wait_for_models
from rolecall.access_requests import moving
from rolecall.access_requests.creation import create_enriched, relate_to
from rolecall.access_requests.enrichment import enrich
from rolecall.access_requests.model import NewPrivilege, NewRequest, PriorApproval, RelatedItem
from rolecall.access_requests.open_access import take_turns_of_people
from rolecall.access_requests.separation import conflicts_created
from rolecall.accounts import matching
from rolecall.accounts.model import Access, Match
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.checking import Facts
from rolecall.core.db import Db, execute, fetch_all, fetch_rows, fetch_value
from rolecall.core.text import is_blank, without_control
from rolecall.identities.actions import create_identity
from rolecall.identities.model import IdentityType
from rolecall.identities.shapes import NewIdentity
from rolecall.reviews.model import Decision, ItemSubject
from rolecall.reviews.queries import NAME
from rolecall.reviews.shapes import ReviewDetail
from rolecall.settings.policy import RequestAction
from rolecall.work_items.actions import add_comment

UTC = ZoneInfo("UTC")
# An account without a person gets an identity with this first name, because a request for an account needs one.
_UNKNOWN = "Unknown"


class _Removal(msgspec.Struct, frozen=True):
    """An item whose decision a request carries out."""

    id: UUID
    number: int
    status: str
    subject: str
    application_id: UUID
    account_id: UUID | None
    username: str | None
    group_name: str | None
    identity_id: UUID | None
    kind: str | None
    header: str | None
    section: str | None
    name: str | None
    access: str
    decision: str
    until: datetime | None
    new_access: str | None
    reviewer_id: UUID
    reviewer: str
    decided_by: UUID | None
    decider: str | None

    @property
    def said(self) -> str:
        """Return a text that says who decided: the reviewer, another person for the reviewer, or nobody in time."""
        if self.decided_by == SYSTEM.id:
            return "no decision was made in time, so the review flagged it"
        if self.decider and self.decided_by != self.reviewer_id:
            return f"{self.decider} decided {self.decision} for {self.reviewer}"
        return f"{self.reviewer} decided {self.decision}"

    @property
    def approved_by(self) -> tuple[UUID, str]:
        """Return who approved the request: the reviewer, or the service if nobody decided."""
        return (SYSTEM.id, SYSTEM.name) if self.decided_by == SYSTEM.id else (self.reviewer_id, self.reviewer)

    @property
    def key(self) -> tuple[Any, ...]:
        """Return what identifies a request: the application, the account or group, and the start date."""
        # Use strings, because requests are sorted by this key and None cannot be compared.
        start = self.until.isoformat() if self.decision == Decision.KEEP_UNTIL and self.until else ""
        return str(self.application_id), self.username or "", self.group_name or "", start


async def request_removals(
    db: Db, caller: Caller, review: ReviewDetail, item_ids: Sequence[UUID], now: datetime
) -> None:
    """Make one request for each account or group to revoke or change its access, and one for each Keep Until date.

    If a request of another review already revokes the access, add the item to that request instead. Items of archived
    applications get no request.
    """
    await _lock_requests(db, item_ids)
    found = await fetch_all(
        db,
        _Removal,
        f"""SELECT c.id, c.number, c.status, c.subject, c.application_id, a.id AS account_id, a.username,
                   g.name AS group_name, a.identity_id, e.kind, e.header, e.section, e.name, c.access, c.decision,
                   c.until, c.new_access, c.reviewer_id, {NAME.format(row="p")} AS reviewer,
                   c.decided_by, d.first_name || ' ' || d.last_name AS decider
            FROM review_items c JOIN applications o ON o.id = c.application_id AND NOT o.is_archived
            LEFT JOIN accounts a ON a.number = c.account_number LEFT JOIN groups g ON g.number = c.group_number
            LEFT JOIN entitlements e ON e.id = latest_self(c.entitlement_id)
            LEFT JOIN identities p ON p.id = c.reviewer_id LEFT JOIN identities d ON d.id = c.decided_by
            WHERE c.id = ANY(%(ids)s) AND c.request_id IS NULL AND c.decision IN ('Revoke', 'Change', 'Keep Until')
            ORDER BY c.list_key""",
        ids=list(item_ids),
    )
    found = await _join_requests(db, caller, review, found, now)
    known = await _with_people(db, found, now)
    groups = [list(items) for _, items in groupby(sorted(known, key=lambda each: each.key), lambda each: each.key)]
    news = [_never_raising(new) for new in await enrich(db, [_request(review, items) for items in groups])]
    ids = await create_enriched(db, caller, news, now, await conflicts_created(db, news))
    await _store_requests(db, {item.id: id for id, items in zip(ids, groups, strict=True) for item in items})


async def lock_removals(db: Db, item_ids: Sequence[UUID]) -> None:
    """Take the locks of `request_removals` for the items of several reviews, all at once and in order.

    Otherwise the locks for one review would follow those for the review before it, and could cause deadlocks.
    """
    await _lock_requests(db, item_ids)
    rows = await fetch_rows(
        db,
        """SELECT a.identity_id, c.group_number IS NOT NULL FROM review_items c
           LEFT JOIN accounts a ON a.number = c.account_number WHERE c.id = ANY(%(ids)s)""",
        ids=list(item_ids),
    )
    await take_turns_of_people(db, {id for id, _ in rows if id}, of_groups=any(is_group for _, is_group in rows))


async def _lock_requests(db: Db, item_ids: Sequence[UUID]) -> None:
    """Lock requests of other reviews that already remove the access of these items, and wait for reviews that make one.

    Their statuses are read afterwards, because somebody may cancel one meanwhile. If an account has no person, wait for
    matching before.
    """
    alone = """SELECT EXISTS (SELECT FROM review_items c JOIN accounts a ON a.number = c.account_number
        WHERE c.id = ANY(%(ids)s) AND c.decision IN ('Revoke', 'Change', 'Keep Until') AND a.identity_id IS NULL)"""
    if await fetch_value(db, alone, ids=list(item_ids)):
        await _wait_for_matching(db)
    accounts = "SELECT account_number::text FROM review_items WHERE id = ANY(%(ids)s) AND account_number IS NOT NULL"
    await execute(db, f"SELECT take_turns('removal', ARRAY({accounts}))", ids=list(item_ids))
    await moving.lock(db, [request_id for _, request_id in await _removing_already(db, item_ids)])


async def _wait_for_matching(db: Db) -> None:
    """Wait for a running matching: it may have read an account before `_unknown_person` pins it."""
    await wait_for_models(db)
    await matching.take_turn(db)


async def _store_requests(db: Db, requests: Mapping[UUID, UUID]) -> None:
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    await execute(
        db,
        """UPDATE review_items c SET request_id = n.request_id
           FROM unnest(%(items)s::uuid[], %(requests)s::uuid[]) AS n (id, request_id) WHERE c.id = n.id""",
        items=list(requests),
        requests=list(requests.values()),
    )


async def _join_requests(
    db: Db, caller: Caller, review: ReviewDetail, found: Sequence[_Removal], now: datetime
) -> list[_Removal]:
    """Assign items to requests of other reviews that already remove the same access; return the remaining items."""
    joined: dict[UUID, UUID] = dict(await _removing_already(db, [item.id for item in found]))
    for request_id in dict.fromkeys(joined.values()):
        items = [item for item in found if joined.get(item.id) == request_id]
        await relate_to(db, request_id, _related(items))
        said = "; ".join(_reasons(review, items))
        await add_comment(db, request_id, author=caller.name, content=said, now=now)
    await _store_requests(db, joined)
    return [item for item in found if item.id not in joined]


async def _removing_already(db: Db, item_ids: Sequence[UUID]) -> list[tuple[UUID, UUID]]:
    """Return items to revoke, each with the first request of another review that removes the same access."""
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT ON (c.id) c.id, q.id FROM review_items c
           JOIN review_items o ON o.account_number = c.account_number AND o.review_id <> c.review_id
                AND o.entitlement_id IS NOT DISTINCT FROM c.entitlement_id AND o.decision = c.decision
           JOIN access_requests q ON q.id = o.request_id AND q.status IN ('Pending', 'Open', 'Resolved')
           WHERE c.id = ANY(%(ids)s) AND c.decision = %(revoke)s ORDER BY c.id, q.number""",
        ids=list(item_ids),
        revoke=Decision.REVOKE,
    )
    return [(item_id, request_id) for item_id, request_id in rows]


def _related(items: Sequence[_Removal]) -> list[RelatedItem]:
    return [RelatedItem(id=item.id, kind="Review Item", number=item.number, status=item.status) for item in items]


def _reasons(review: ReviewDetail, items: Sequence[_Removal]) -> list[str]:
    return [f"Review #{review.number}, item #{item.number}: {item.said}" for item in items]


def _request(review: ReviewDetail, items: Sequence[_Removal]) -> NewRequest:
    first = items[0]
    has_changes = any(item.decision == Decision.CHANGE for item in items)
    is_whole = any(item.subject == ItemSubject.ACCOUNT for item in items)
    reasons = _reasons(review, items)
    by_person = dict(item.approved_by for item in items)
    approvals = [
        PriorApproval(
            "; ".join(said for said, item in zip(reasons, items, strict=True) if item.approved_by[0] == id), id, name
        )
        for id, name in by_person.items()
    ]
    return NewRequest(
        action=RequestAction.CHANGE if has_changes and not is_whole else RequestAction.REMOVE,
        application_id=first.application_id,
        identity_id=first.identity_id,
        target_name=first.username or first.group_name,
        privileges=() if is_whole else [_privilege(item) for item in items],
        scheduled_start=first.until if first.decision == Decision.KEEP_UNTIL else None,
        approvals=approvals,
        also_related=_related(items),
        comment=f"Decided in review #{review.number}, {review.name}",
    )


def _never_raising(new: NewRequest) -> NewRequest:
    """Limit the request to the access that is held now, which may be lower than when the decision was made."""
    return msgspec.structs.replace(new, privileges=[_at_most_held(each) for each in new.privileges])


def _at_most_held(privilege: NewPrivilege) -> NewPrivilege:
    if not privilege.raises_access():
        return privilege
    held = Access.NONE if privilege.is_through_groups else privilege.initial_access or Access.NONE
    return msgspec.structs.replace(privilege, requested_access=held)


def _privilege(item: _Removal) -> NewPrivilege:
    return NewPrivilege(
        header=item.header or "",
        section=item.section or "",
        permission=item.name or "",
        requested_access=Access(item.new_access) if item.new_access else Access.NONE,
    )


async def _with_people(db: Db, found: Sequence[_Removal], now: datetime) -> list[_Removal]:
    """Give each account without a person an identity of type Unknown, because a request for an account needs one."""
    alone = {item.account_id: item for item in reversed(found) if item.account_id and item.identity_id is None}
    if not alone:
        return list(found)
    await _wait_for_matching(db)
    # Read again with a lock, because an account may have been matched since `found` was read.
    rows = await fetch_rows(
        db,
        "SELECT id, identity_id FROM accounts WHERE id = ANY(%(ids)s) ORDER BY id FOR UPDATE",
        ids=list(alone),
    )
    people: dict[UUID | None, UUID] = {id: identity for id, identity in rows if identity}
    for id, item in reversed(alone.items()):
        if id not in people:
            people[id] = await _unknown_person(db, item, now)
    return [
        msgspec.structs.replace(item, identity_id=people[item.account_id]) if item.account_id in people else item
        for item in found
    ]


async def _unknown_person(db: Db, item: _Removal, now: datetime) -> UUID:
    # A username may contain control characters or be invisible; the name of an identity must not.
    shown = without_control(item.username or "")[:256]
    name = "Account without a visible name" if is_blank(shown) else shown
    raw = {"firstName": _UNKNOWN, "lastName": name, "identityType": IdentityType.UNKNOWN.value}
    body = NewIdentity.model_validate(raw, context=Facts(now=now, zone=UTC))
    id = await create_identity(db, body, now)
    # Fires count_matching, keep_past and note_pin (schema/accounts.sql), note_to_evaluate (schema/duties.sql) and
    # recheck_requests (schema/access_requests.sql).
    await execute(
        db,
        """UPDATE accounts SET pin = %(pin)s, match = %(pin)s, identity_id = %(identity)s, matched_on = %(now)s
           WHERE id = %(id)s""",
        id=item.account_id,
        pin=Match.PINNED,
        identity=id,
        now=now,
    )
    return id
