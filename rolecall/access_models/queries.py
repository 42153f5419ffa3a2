"""Read access models, their members and what they grant."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.access_models.model import Definition, Grant
from rolecall.access_models.shapes import AccessModelDetail, AccessModelItem
from rolecall.accounts.model import PermissionName
from rolecall.accounts.naming import look_up_groups, look_up_permissions
from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Listing, Page, fetch_listed, fetch_small, totals_by
from rolecall.entitlements.model import EntitlementKind
from rolecall.entitlements.shapes import EntitlementItem
from rolecall.identities import queries as identities
from rolecall.identities.shapes import IdentityDetail


async def by_name(db: Db, page: int) -> Page[AccessModelItem]:
    columns = """id, 'Access Model' AS kind, name, coalesce(definition, draft) ->> 'description' AS description,
                 is_in_effect AS enabled, version, draft IS NOT NULL AS has_draft"""
    models = {"columns": columns, "rows": "FROM access_models", "order": "name_key, id"}
    return await fetch_small(db, lambda row: AccessModelItem(*row), page, **models)


async def get(db: Db, id: str | UUID) -> AccessModelDetail:
    known = known_guid("Access model", str(id))
    rows = await fetch_rows(
        db,
        """SELECT id, 'Access Model' AS kind, version, definition, draft, created_at, changed_at
           FROM access_models WHERE id = %(id)s""",
        id=known,
    )
    if not rows:
        raise NotFound("Access model", id)
    *first, definition, draft, created, changed = rows[0]
    members = (await member_counts(db, [known]))[known]
    drafted = _definition(draft)
    unknown = await _unknown_names(db, drafted) if drafted else []
    return AccessModelDetail(*(*first, members, _definition(definition), drafted, created, changed, unknown))


async def _unknown_names(db: Db, draft: Definition) -> list[str]:
    """Return a message for each group and permission of a draft that its applications do not have."""
    groups = [(each.application_id, name) for each in draft.access for name in each.groups]
    permissions = [
        (each.application_id, PermissionName(one.header, one.section, one.permission))
        for each in draft.access
        for one in each.permissions
    ]
    found = await look_up_groups(db, groups) if groups else []
    found += await look_up_permissions(db, permissions) if permissions else []
    return [lookup.complaint for lookup in found if lookup.complaint]


async def member_counts(db: Db, ids: Sequence[UUID]) -> dict[UUID, int]:
    counts = await totals_by(db, "access_model_members", "model_id", [str(id) for id in ids])
    return {id: counts[str(id)] for id in ids}


def _definition(stored: Any) -> Definition | None:
    return stored and msgspec.convert(stored, Definition)


MEMBERS = Listing(
    table="access_model_members",
    row="m",
    columns=identities.COLUMNS,
    joins=f"JOIN identities i ON i.id = m.identity_id {identities.SUPERVISOR}",
    make=identities.from_row,
    facets=("model_id",),
)


async def members(db: Db, id: str, page: int) -> Page[IdentityDetail]:
    model = await get(db, id)
    return await fetch_listed(db, MEMBERS, page, model_id=model.id)


async def matching(db: Db, identity_id: UUID, changes: Mapping[str, object] | None = None) -> frozenset[UUID]:
    """Return the models that match an identity, with `changes` replacing some of its columns.

    Custom fields are replaced together, as the column `custom_fields`.
    """
    # Encode with msgspec, because the standard encoder accepts neither times nor ids.
    rows = await fetch_rows(
        db,
        """SELECT m.model_id FROM identities i, access_models_matching(jsonb_populate_record(i, %(changes)s)) AS m
           WHERE i.id = %(id)s""",
        id=identity_id,
        changes=Jsonb({**(changes or {})}, dumps=msgspec.json.encode),
    )
    return frozenset(id for (id,) in rows)


async def granted(db: Db, model_ids: Iterable[UUID]) -> list[Grant]:
    """Return what these models grant together: for each entitlement, the highest access and the names of the models.

    Archived applications are left out.
    """
    return await fetch_all(
        db,
        Grant,
        """SELECT g.application_id, g.header, g.section, g.permission,
                  (array_agg(g.access ORDER BY access_rank(g.access) DESC))[1] AS access,
                  min(g.description) AS description,
                  (array_agg(g.risk_rating ORDER BY risk_rank(g.risk_rating) DESC))[1] AS risk_rating,
                  array_agg(DISTINCT m.name) AS models
           FROM access_model_privileges g
           JOIN access_models m ON m.id = g.model_id
           JOIN applications a ON a.id = g.application_id AND NOT a.is_archived
           WHERE g.model_id = ANY(%(ids)s)
           GROUP BY a.name_key, g.application_id, g.header, g.section, g.permission
           ORDER BY a.name_key, g.application_id, g.header, g.section, g.permission""",
        ids=list(model_ids),
    )


class GrantingModel(msgspec.Struct, frozen=True):
    """A model that grants an entitlement, directly or through a group.

    `through` names the group, or is empty if the model grants the entitlement directly.
    """

    id: UUID
    name: str
    through: str


async def granting(db: Db, entitlement: EntitlementItem, groups: Sequence[str]) -> list[GrantingModel]:
    """Return the models in effect that grant an entitlement or one of the groups that give it."""
    # `bool_and`: a model that grants the entitlement both directly and through a group counts as direct.
    return await fetch_all(
        db,
        GrantingModel,
        """SELECT m.id, m.name, CASE WHEN bool_and(g.is_group AND g.permission = ANY(%(groups)s))
                                     THEN min(g.permission) ELSE '' END AS through
           FROM access_model_grants g JOIN access_models m ON m.id = g.model_id
           WHERE g.application_id = %(application)s AND (
               g.is_group = %(is_group)s AND g.permission = %(name)s
                   AND (g.is_group OR (g.header, g.section) = (%(header)s, %(section)s))
               OR g.is_group AND g.permission = ANY(%(groups)s))
           GROUP BY m.id ORDER BY m.name_key""",
        application=entitlement.application.id,
        is_group=entitlement.kind == EntitlementKind.GROUP,
        header=entitlement.header,
        section=entitlement.section,
        name=entitlement.name,
        groups=list(groups),
    )
