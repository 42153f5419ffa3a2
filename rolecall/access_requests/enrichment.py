"""Enrich new requests with imported data: the account or group, its access, and the catalogue entry of each privilege.

Every privilege gets its description, risk rating, value and metadata here, so that all are rated in one place.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.access_requests.shapes import AccessModelReference
from rolecall.accounts import queries as accounts
from rolecall.accounts.model import Access, group_header, pairs
from rolecall.accounts.shapes import HeldPermission, Membership
from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.settings.policy import Level, RequestAction
from rolecall.work_items.queries import grouped

_TAKES_ALL = {RequestAction.REMOVE, RequestAction.SUSPEND}


async def enrich(db: Db, news: Sequence[NewRequest]) -> list[NewRequest]:
    return await enrich_privileges(db, await enrich_targets(db, news))


class _Holder(msgspec.Struct, frozen=True):
    """The account or group that a request is about."""

    number: int
    id: UUID
    name: str
    nomenclature: str
    metadata: dict[str, str]
    risk: str
    returning_risk: str

    def enrich(self, new: NewRequest) -> NewRequest:
        return msgspec.structs.replace(
            new,
            target_name=self.name,
            nomenclature=new.nomenclature or self.nomenclature,
            metadata=new.metadata or tuple(self.metadata.items()),
            target_risk=Level(self.risk),
            returning_risk=Level(self.returning_risk),
        )


class Targeted(msgspec.Struct, frozen=True):
    """Requests with their targets filled in; `holders` are the existing targets, by index of the request."""

    requests: list[NewRequest]
    holders: dict[int, _Holder]


async def enrich_targets(db: Db, news: Sequence[NewRequest]) -> Targeted:
    holders = await _holders(db, news)
    names = await _names(db, [new for n, new in enumerate(news) if n not in holders and new.target_name is None])
    found = [holders[n].enrich(new) if n in holders else _without_holder(new, names) for n, new in enumerate(news)]
    return Targeted(found, holders)


# A Restore, or an Add to an inactive or locked account, enables the account with everything that it holds, so all of it
# counts for the risk.
_RETURNING = """CASE WHEN asked.action = 'Restore' OR asked.action = 'Add' AND (NOT v.is_active OR v.is_locked)
                     THEN account_risk(a.number) ELSE 'None' END"""
_RETURNING_GROUP = "CASE WHEN asked.action = 'Restore' THEN privilege_risk(NULL, g.number) ELSE 'None' END"


async def _holders(db: Db, news: Sequence[NewRequest]) -> dict[int, _Holder]:
    """Return the existing targets: the named account or group or, without a name, an account of the identity.

    Active accounts are preferred.
    """
    # An account has the risk None, because only its privileges are rated.
    rows = await fetch_rows(
        db,
        f"""SELECT asked.n, holder.*
           FROM unnest(%(applications)s::uuid[], %(identities)s::uuid[], %(names)s::text[], %(actions)s::text[])
                WITH ORDINALITY AS asked (application_id, identity_id, name, action, n)
           CROSS JOIN LATERAL (
               (SELECT a.number, a.id, a.username, '', v.metadata::json, 'None', {_RETURNING}
                FROM accounts a JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
                WHERE a.application_id = asked.application_id AND a.username = asked.name
                      AND asked.identity_id IS NOT NULL)
               UNION ALL
               (SELECT a.number, a.id, a.username, '', v.metadata::json, 'None', {_RETURNING}
                FROM accounts a JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
                WHERE a.application_id = asked.application_id AND a.identity_id = asked.identity_id
                      AND asked.name IS NULL
                ORDER BY v.is_active DESC, a.username LIMIT 1)
               UNION ALL
               (SELECT g.number, g.id, g.name, v.nomenclature, v.metadata::json, privilege_risk(NULL, g.number),
                       {_RETURNING_GROUP}
                FROM groups g JOIN group_versions v ON v.group_number = g.number AND v.until_import IS NULL
                WHERE g.application_id = asked.application_id AND g.name = asked.name AND asked.identity_id IS NULL)
           ) AS holder""",
        applications=[new.application_id for new in news],
        identities=[new.identity_id for new in news],
        names=[new.target_name for new in news],
        actions=[new.action for new in news],
    )
    # WITH ORDINALITY counts from 1.
    return {n - 1: _Holder(*holder) for n, *holder in rows}


async def _names(db: Db, unnamed: Sequence[NewRequest]) -> dict[UUID | None, str]:
    """Return names for accounts that do not exist yet: the identity's e-mail or, without one, first and last name."""
    rows = await fetch_rows(
        db,
        """SELECT id, coalesce(nullif(email_address, ''), first_name || ' ' || last_name)
           FROM identities WHERE id = ANY(%(ids)s)""",
        ids=list({new.identity_id for new in unnamed}),
    )
    return dict(rows)


def _without_holder(new: NewRequest, names: dict[UUID | None, str]) -> NewRequest:
    """Fill in the name and the risk of a target that has not been imported yet. Such a group is rated Critical."""
    name = names[new.identity_id] if new.target_name is None else new.target_name
    risk = Level.NONE if new.identity_id else Level.CRITICAL
    return msgspec.structs.replace(new, target_name=name, target_risk=risk)


async def enrich_privileges(db: Db, targeted: Targeted) -> list[NewRequest]:
    """Fill in the privileges. For a Remove or Suspend of a whole account, list its groups and direct permissions."""
    news, holders = [_marked(new) for new in targeted.requests], targeted.holders
    taken = [n for n, new in enumerate(news) if new.action in _TAKES_ALL and not new.privileges and new.identity_id]
    everything = await held_privileges(db, [holders[n].id for n in taken if n in holders])
    for n in taken:
        if n in holders:
            lost = [_asking(privilege, Access.NONE) for privilege in everything[holders[n].id]]
            news[n] = msgspec.structs.replace(news[n], privileges=lost)
    known = await _known(db, news, holders)
    return [
        msgspec.structs.replace(new, privileges=[known[n, position] for position in range(len(new.privileges))])
        for n, new in enumerate(news)
    ]


def _marked(new: NewRequest) -> NewRequest:
    """Mark a Remove or Suspend without privileges as about the whole account, before its privileges are filled in."""
    is_whole = new.is_whole or (new.action in _TAKES_ALL and not new.privileges)
    return msgspec.structs.replace(new, is_whole=is_whole)


def _asking(privilege: NewPrivilege, access: Access) -> NewPrivilege:
    return msgspec.structs.replace(privilege, requested_access=access)


class _CatalogueEntry(msgspec.Struct, frozen=True):
    """The imported data about a privilege; `risk` is None if the catalogue does not contain the privilege."""

    access: str
    is_through_groups: bool
    description: str
    risk: str | None
    held_value: str | None
    usual_value: str
    metadata: dict[str, str]
    sources: list[str]
    imports: list[int]


async def _known(
    db: Db, news: Sequence[NewRequest], holders: dict[int, _Holder]
) -> dict[tuple[int, int], NewPrivilege]:
    """Fill in all privileges from imported data; return them by the indexes of the request and the privilege."""
    asked = {
        (n, position): privilege for n, new in enumerate(news) for position, privilege in enumerate(new.privileges)
    }
    if not asked:
        return {}
    found = await fetch_all(
        db,
        _CatalogueEntry,
        _KNOWN,
        # Look up the held access only if the request does not state it.
        holders=[
            holders[n].number if n in holders and privilege.initial_access is None else None
            for (n, _), privilege in asked.items()
        ],
        applications=[news[n].application_id for n, _ in asked],
        headers=[privilege.header for privilege in asked.values()],
        sections=[privilege.section for privilege in asked.values()],
        permissions=[privilege.permission for privilege in asked.values()],
        accesses=[privilege.requested_access for privilege in asked.values()],
    )
    return {place: _filled(asked[place], known) for place, known in zip(asked, found, strict=True)}


def _filled(privilege: NewPrivilege, found: _CatalogueEntry) -> NewPrivilege:
    access = privilege.initial_access or Access(found.access)
    # A value held with None or Deny is not the value to provision (docs/decisions/0082), so show the usual value.
    value = found.usual_value if access in (Access.NONE, Access.DENY) else found.held_value or ""
    return msgspec.structs.replace(
        privilege,
        initial_access=access,
        is_through_groups=found.is_through_groups,
        description=privilege.description or found.description,
        risk_rating=Level(found.risk) if found.risk else privilege.risk_rating or Level.CRITICAL,
        metadata=privilege.metadata or pairs(found.metadata),
        value=privilege.value or value,
        sources=privilege.sources or found.sources,
        origins=privilege.origins or [f"Import {number}" for number in found.imports],
    )


# Direct access takes precedence over access through groups; among groups, the highest access applies. Bulk requests
# often name the same privileges, so each permission or group is rated once.
_KNOWN = """
    WITH named AS MATERIALIZED (
        -- 0 replaces NULL, because USING does not join NULLs.
        SELECT asked.n, asked.holder, asked.access, coalesce(p.number, 0) AS permission_number,
               coalesce(gv.group_number, 0) AS group_number,
               coalesce(pv.description, gv.description, '') AS description,
               coalesce(gv.metadata, '{}')::json AS metadata
        FROM unnest(%(holders)s::int[], %(applications)s::uuid[], %(headers)s::text[], %(sections)s::text[],
                    %(permissions)s::text[], %(accesses)s::text[])
             WITH ORDINALITY AS asked (holder, application_id, header, section, permission, access, n)
        LEFT JOIN permissions p ON p.application_id = asked.application_id AND p.header = asked.header
                                   AND p.section = asked.section AND p.permission = asked.permission
        LEFT JOIN permission_versions pv ON pv.permission_number = p.number AND pv.until_import IS NULL
        LEFT JOIN groups g ON g.application_id = asked.application_id AND g.name = asked.permission
                              AND asked.section = ''
        LEFT JOIN group_versions gv ON gv.group_number = g.number AND gv.until_import IS NULL
                                       AND asked.header = group_header(gv.nomenclature)),
    rated AS MATERIALIZED (
        SELECT permission_number, group_number, known_risk(permission_number, group_number) AS risk
        FROM (SELECT DISTINCT permission_number, group_number FROM named) AS once)
    SELECT coalesce(held.access[1], CASE WHEN m.from_import IS NOT NULL THEN 'Grant' END, 'None') AS access,
           coalesce(NOT held.is_direct, false) AS is_through_groups,
           named.description, rated.risk, held.value[1] AS held_value,
           coalesce(usual_value(named.permission_number, named.access), '') AS usual_value, named.metadata,
           coalesce(held.sources, CASE WHEN m.from_import IS NOT NULL THEN ARRAY['Direct'] END, '{}') AS sources,
           coalesce(held.imports, CASE WHEN m.from_import IS NOT NULL THEN ARRAY[m.from_import] END, '{}') AS imports
    FROM named JOIN rated USING (permission_number, group_number)
    LEFT JOIN memberships m ON m.account_number = named.holder AND m.group_number = named.group_number
                               AND m.until_import IS NULL
    LEFT JOIN LATERAL (
        SELECT array_agg(s.access::text ORDER BY via.is_direct DESC, access_rank(s.access::text) DESC) AS access,
               array_agg(s.value ORDER BY via.is_direct DESC) AS value, bool_or(via.is_direct) AS is_direct,
               array_agg(via.name ORDER BY via.name) AS sources, array_agg(DISTINCT s.from_import) AS imports
        FROM (SELECT named.holder, 'Direct', true
              UNION ALL
              SELECT w.above, array_to_string(group_names(w.path || w.above), ' > '), false FROM memberships mo
              CROSS JOIN LATERAL groups_above(ARRAY[mo.group_number], now_import()) AS w
              WHERE mo.account_number = named.holder AND mo.until_import IS NULL) AS via (number, name, is_direct)
        JOIN assignments s ON s.holder_number = via.number AND s.permission_number = named.permission_number
                              AND s.until_import IS NULL
    ) AS held ON true
    ORDER BY named.n"""


async def held_privileges(db: Db, account_ids: Sequence[UUID]) -> dict[UUID, list[NewPrivilege]]:
    """Return the groups of each account, then its direct permissions. Permissions through groups are not listed."""
    memberships = [member for member in await accounts.memberships(db, account_ids) if not member.path]
    direct = [held for held in await accounts.permissions_held(db, account_ids) if not held.path]
    rows = [(member.account_id, _membership(member)) for member in memberships]
    rows += [(held.holder_id, _permission(held)) for held in direct]
    return grouped(rows, lambda privilege: privilege)


def _membership(member: Membership) -> NewPrivilege:
    return NewPrivilege(
        header=group_header(member.nomenclature),
        permission=member.group,
        description=member.description,
        initial_access=Access.GRANT,
        sources=["Direct"],
        origins=[f"Import {member.from_import}"],
    )


def _permission(held: HeldPermission) -> NewPrivilege:
    return NewPrivilege(
        header=held.header,
        section=held.section,
        permission=held.permission,
        description=held.description,
        value=held.value,
        initial_access=Access(held.access),
        sources=["Direct"],
        origins=[f"Import {held.from_import}"],
    )


async def granting_models(db: Db, news: Sequence[NewRequest]) -> dict[int, list[AccessModelReference]]:
    """Map the index of each request to the models that grant its privileges.

    Each reference says whether the model will match the person.
    """
    asked = [(n, new, privilege) for n, new in enumerate(news) for privilege in new.privileges]
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT asked.n, m.name_key, m.id, m.name, m.definition ->> 'description',
                  EXISTS (SELECT FROM access_model_members x
                          WHERE x.model_id = m.id AND x.identity_id = asked.identity_id)
           FROM unnest(%(places)s::int[], %(identities)s::uuid[], %(applications)s::uuid[], %(headers)s::text[],
                       %(sections)s::text[], %(permissions)s::text[])
                AS asked (n, identity_id, application_id, header, section, permission)
           JOIN access_model_privileges g USING (application_id, header, section, permission)
           JOIN access_models m ON m.id = g.model_id AND m.is_in_effect
           ORDER BY asked.n, m.name_key, m.id""",
        places=[n for n, _, _ in asked],
        identities=[new.identity_id for _, new, _ in asked],
        applications=[new.application_id for _, new, _ in asked],
        headers=[privilege.header for _, _, privilege in asked],
        sections=[privilege.section for _, _, privilege in asked],
        permissions=[privilege.permission for _, _, privilege in asked],
    )

    def reference(n: int, _: str, id: UUID, name: str, description: str, matches: bool) -> Any:
        after = news[n].models_in_effect
        return n, AccessModelReference(id, name, description, matches if after is None else id in after)

    return grouped((reference(*row) for row in rows), lambda model: model)
