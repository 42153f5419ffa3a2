"""Read the accounts and access models from which an event's requests are planned."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from rolecall.access_models import queries as access_models
from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts import queries as accounts
from rolecall.accounts.model import Access, group_header
from rolecall.accounts.shapes import Account
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.personnel_events.planning import Grants, HeldAccount, Key, Situation, key
from rolecall.settings.policy import EventType, Level


async def situation_of(
    db: Db,
    type: EventType,
    identity_id: UUID,
    changes: Mapping[str, Any] | None = None,
    custom_fields: Mapping[str, str] | None = None,
) -> Situation:
    """Return the accounts and models of an identity; `changes` and `custom_fields` are those of a role transition."""
    found = await accounts.of_identity(db, identity_id)
    holds = await _holdings(db, identity_id, found) if type is EventType.ROLE_TRANSITION else {}
    held = [
        HeldAccount(account.application_id, account.username, account.is_active, holds.get(account.id, frozenset()))
        for account in found
    ]
    match type:
        case EventType.ONBOARD:
            models = await access_models.matching(db, identity_id)
            return Situation(held, after=await _grants(db, models), models_after=models)
        case EventType.OFFBOARD:
            # No model matches an inactive identity.
            return Situation(held, models_after=frozenset())
        case EventType.ABSENCE:
            return Situation(held)
        case EventType.ROLE_TRANSITION:
            now = await fetch_value(db, "SELECT custom_fields FROM identities WHERE id = %(id)s", id=identity_id)
            # `matching` replaces the column of custom fields as a whole, so merge the fields here.
            will_be = {**(changes or {}), "custom_fields": {**now, **(custom_fields or {})}}
            models = await access_models.matching(db, identity_id, will_be)
            before = await _grants(db, await access_models.matching(db, identity_id))
            return Situation(held, before=before, after=await _grants(db, models), models_after=models)


async def _holdings(db: Db, identity_id: UUID, found: Sequence[Account]) -> dict[UUID, frozenset[Key]]:
    """Return the privileges that each account holds, that requests will give it, or that a Restore may give back."""
    ids = [account.id for account in found]
    holds = defaultdict[UUID, set[Key]](set)
    for member in await accounts.memberships(db, ids):
        holds[member.account_id].add((group_header(member.nomenclature), "", member.group))
    for held in await accounts.permissions_held(db, ids):
        if held.access not in (Access.NONE, Access.DENY):
            holds[held.holder_id].add((held.header, held.section, held.permission))
    coming = await fetch_rows(
        db,
        """SELECT r.application_id, p.header, p.section, p.permission
           FROM access_requests r JOIN privileges p ON p.request_id = r.id
           WHERE r.identity_id = %(identity)s AND gives(r) AND is_unshown(r)
             AND p.requested_access NOT IN ('None', 'Deny')
           UNION ALL
           -- Suspended access may be gone from the account, but a Restore gives it back.
           SELECT r.application_id, p.header, p.section, p.permission
           FROM access_requests r JOIN privileges p ON p.request_id = r.id
           WHERE r.identity_id = %(identity)s AND r.action = 'Suspend' AND r.status <> 'Canceled'
             AND p.initial_access NOT IN ('None', 'Deny') AND NOT EXISTS (
                 SELECT FROM access_requests s JOIN privileges q ON q.request_id = s.id
                 WHERE s.application_id = r.application_id AND s.target_name = r.target_name
                   AND s.identity_id = r.identity_id AND s.action = 'Restore' AND s.status <> 'Canceled'
                   AND (s.number > r.number OR s.resolved_on > r.resolved_on)
                   AND (q.header, q.section, q.permission) = (p.header, p.section, p.permission))""",
        identity=identity_id,
    )
    for account in found:
        holds[account.id] |= {tuple(key) for application, *key in coming if application == account.application_id}
    return {id: frozenset(keys) for id, keys in holds.items()}


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
