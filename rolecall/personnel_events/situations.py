"""What an event's requests follow from, read from accounts and access models."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from rolecall.access_models import queries as access_models
from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts import queries as accounts
from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_value
from rolecall.personnel_events.planning import Grants, HeldAccount, Key, Situation, key
from rolecall.settings.policy import EventType, Level


async def situation_of(
    db: Db,
    type: EventType,
    identity_id: UUID,
    changes: Mapping[str, Any] | None = None,
    custom_fields: Mapping[str, str] | None = None,
) -> Situation:
    """`changes` and `custom_fields` are what a role transition will set."""
    held = [
        HeldAccount(account.application_id, account.username, account.is_active)
        for account in await accounts.of_identity(db, identity_id)
    ]
    match type:
        case EventType.ONBOARD:
            models = await access_models.matching(db, identity_id)
            return Situation(held, after=await _grants(db, models), models_after=models)
        case EventType.OFFBOARD:
            return Situation(held, models_after=frozenset())
        case EventType.ABSENCE:
            return Situation(held)
        case EventType.ROLE_TRANSITION:
            now = await fetch_value(db, "SELECT custom_fields FROM identities WHERE id = %(id)s", id=identity_id)
            will_be = {**(changes or {}), "custom_fields": {**now, **(custom_fields or {})}}
            models = await access_models.matching(db, identity_id, will_be)
            before = await _grants(db, await access_models.matching(db, identity_id))
            return Situation(held, before=before, after=await _grants(db, models), models_after=models)


async def _grants(db: Db, models: Collection[UUID]) -> Grants:
    by_application = defaultdict[UUID, dict[Key, NewPrivilege]](dict)
    for grant in await access_models.granted(db, models):
        privilege = NewPrivilege(
            header=grant.header,
            section=grant.section,
            permission=grant.permission,
            requested_access=Access(grant.access),
            description=grant.description,
            risk_rating=Level(grant.risk_rating),
            sources=grant.models,
            origins=["Access Model"],
        )
        by_application[grant.application_id][key(privilege)] = privilege
    return by_application
