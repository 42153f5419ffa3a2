"""Create access requests in bulk. The number of statements does not depend on the number of requests."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rolecall.access_requests import separation
from rolecall.access_requests.enrichment import enrich, granting_models
from rolecall.access_requests.model import (
    APPROVE,
    NewPrivilege,
    NewRequest,
    RelatedItem,
    RequestEvent,
    TargetType,
)
from rolecall.access_requests.moving import record_events
from rolecall.access_requests.opening import approve
from rolecall.access_requests.requirements import (
    RuleReviewers,
    barred_members,
    people_for,
    response_rows,
    reviewers_of,
)
from rolecall.access_requests.separation import conflict_rows, people_rows
from rolecall.access_requests.shapes import AccessModelReference
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, insert_rows
from rolecall.core.ids import new_id
from rolecall.duties.prevention import FoundConflict
from rolecall.settings import queries as settings
from rolecall.settings.policy import Level, RequestAction, RequirementType
from rolecall.tokens.queries import own_id
from rolecall.work_items.actions import record_activity_of
from rolecall.work_items.model import WorkStatus

_ONLY_GIVE = (RequestAction.ADD, RequestAction.RESTORE)


async def create_requests(db: Db, caller: Caller, news: Sequence[NewRequest], now: datetime) -> list[UUID]:
    """Enrich the requests with imported data and create them; return their ids in the same order."""
    news = await enrich(db, news)
    return await create_enriched(db, caller, news, now, await separation.conflicts_created(db, news))


async def create_enriched(
    db: Db,
    caller: Caller,
    news: Sequence[NewRequest],
    now: datetime,
    found: Sequence[Sequence[FoundConflict]],
) -> list[UUID]:
    """Create requests that were enriched. Approve those that need no approval, and start them if they are due.

    `found` are the conflicts that each request would create.
    """
    models = await granting_models(db, news)
    requests = {new_id(): new for new in news}
    asked = await _reviewers(db, caller, requests, dict(zip(requests, found, strict=True)))

    rows = [_request_row(id, new, models[n], caller, now) for n, (id, new) in enumerate(requests.items())]
    # Fires the trigger keep_waiting_on_insert in schema/access_requests.sql.
    await insert_rows(db, "access_requests", rows)
    await insert_rows(db, "privileges", [row for id, new in requests.items() for row in _privilege_rows(id, new)])
    await insert_rows(db, "responses", [row for id, rules in asked.items() for row in response_rows(id, rules)])
    await insert_rows(db, "related_items", [row for id, new in requests.items() for row in _related_rows(id, new)])
    await _insert_conflicts(db, dict(zip(requests, found, strict=True)), asked)
    await insert_rows(db, "comments", [row for id, new in requests.items() for row in _comments(id, new, caller, now)])

    ids = list(requests)
    await record_activity_of(db, ids, author=caller.name, action="Created", content="Access request created", now=now)
    # The event contains the whole request, so record it after all other rows.
    await record_events(db, [RequestEvent.CREATED], ids, caller, now)
    free = [
        id for id, rules in asked.items() if all(rule.is_met or rule.type != RequirementType.APPROVE for rule in rules)
    ]
    said = {id: "; ".join(each.reason for each in requests[id].approvals) or APPROVE.text for id in free}
    # All requests have just been checked, so check only those again that may have to wait for each other.
    await approve(db, free, SYSTEM, now, said, recheck_only=_made_together(requests))
    return ids


async def _reviewers(
    db: Db, caller: Caller, requests: Mapping[UUID, NewRequest], found: Mapping[UUID, Sequence[FoundConflict]]
) -> dict[UUID, list[RuleReviewers]]:
    """Return the reviewers of each request. If a token makes the requests, its owner is treated as the reporter."""
    policy, own = (await settings.get(db)).approval_policy, await own_id(db, caller)
    owners = {each.conflict.owner_id for would in found.values() for each in would}
    news = list(requests.values())
    people = await people_for(db, policy, news, owners)
    members = await barred_members(db, news, [own] * len(news))
    return {
        id: reviewers_of(
            policy, new, own, people, separation.shown(found[id]), separation.in_conflict(found[id]), members[n]
        )
        for n, (id, new) in enumerate(requests.items())
    }


async def _insert_conflicts(
    db: Db, found: Mapping[UUID, Sequence[FoundConflict]], asked: Mapping[UUID, Sequence[RuleReviewers]]
) -> None:
    shown = [row for id, each in found.items() for row in conflict_rows(id, separation.shown(each))]
    await insert_rows(db, "request_conflicts", shown)
    people = [row for id, each in found.items() for row in people_rows(id, each, asked[id])]
    await insert_rows(db, "request_conflict_people", people)


def _made_together(requests: Mapping[UUID, NewRequest]) -> set[UUID]:
    """Return the requests that can depend on each other.

    These are all requests for a person if one of them may remove access, or if several of them restore access.
    """
    taking = {new.identity_id for new in requests.values() if new.action not in _ONLY_GIVE}
    restored = Counter(new.identity_id for new in requests.values() if new.action is RequestAction.RESTORE)
    concerned = taking | {id for id, count in restored.items() if count > 1}
    return {id for id, new in requests.items() if new.identity_id and new.identity_id in concerned}


def _request_row(
    id: UUID, new: NewRequest, models: Sequence[AccessModelReference], caller: Caller, now: datetime
) -> dict[str, Any]:
    return {
        "id": id,
        "action": new.action,
        "status": WorkStatus.PENDING,
        "reporter_id": caller.id,
        "reporter_name": caller.name,
        "target_type": TargetType.USER if new.identity_id else TargetType.GROUP,
        "target_name": new.target_name,
        "nomenclature": new.nomenclature,
        "identity_id": new.identity_id,
        "application_id": new.application_id,
        "metadata": [{"key": key, "value": value} for key, value in new.metadata],
        "access_models": models,
        "scheduled_start": new.scheduled_start,
        "is_whole": new.is_whole,
        "created_at": now,
        "status_since": now,
    }


def _privilege_rows(id: UUID, new: NewRequest) -> list[dict[str, Any]]:
    # Nothing is approved yet; `approve` sets the approved access.
    return [
        {"request_id": id, "position": position, "approved_access": "None", **_privilege(privilege)}
        for position, privilege in enumerate(new.privileges)
    ]


def _privilege(privilege: NewPrivilege) -> dict[str, Any]:
    return {
        "initial_access": privilege.initial_access or "None",
        "requested_access": privilege.requested_access,
        "header": privilege.header,
        "section": privilege.section,
        "permission": privilege.permission,
        "description": privilege.description,
        "risk_rating": privilege.risk_rating or Level.CRITICAL,
        "metadata": list(privilege.metadata),
        "value": privilege.value,
        "sources": list(privilege.sources),
        "origins": list(privilege.origins),
    }


def _related_rows(id: UUID, new: NewRequest) -> list[dict[str, Any]]:
    return [_related_row(id, item) for item in (new.related, *new.also_related) if item]


def _related_row(id: UUID, item: RelatedItem) -> dict[str, Any]:
    return {
        "request_id": id,
        "item_id": item.id,
        "kind": item.kind,
        "number": item.number,
        "status": item.status,
        "stage": item.stage,
    }


async def relate_to(db: Db, request_id: UUID, items: Sequence[RelatedItem]) -> None:
    await insert_rows(db, "related_items", [_related_row(request_id, item) for item in items])


def _comments(id: UUID, new: NewRequest, caller: Caller, now: datetime) -> list[dict[str, Any]]:
    if new.comment is None:
        return []
    return [{"item_id": id, "created_date": now, "author": caller.name, "content": new.comment}]
