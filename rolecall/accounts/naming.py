"""Permissions and groups by name: other letters' case means the one that exists, if one alone does."""

from collections.abc import Sequence
from uuid import UUID

from rolecall.accounts.model import PermissionName
from rolecall.core.db import Db, fetch_rows


async def permissions_as_stored(db: Db, asked: Sequence[tuple[UUID, PermissionName]]) -> list[PermissionName]:
    """Of an application each, in the same order; what does not exist, or fits several, stays as it was written."""
    rows = await fetch_rows(
        db,
        """SELECT asked.n, min(fits.header), min(fits.section), min(fits.permission)
           FROM unnest(%(applications)s::uuid[], %(headers)s::text[], %(sections)s::text[], %(permissions)s::text[])
                WITH ORDINALITY AS asked (application_id, header, section, permission, n)
           CROSS JOIN LATERAL (
               SELECT p.header, p.section, p.permission FROM permissions p
               JOIN permission_versions v ON v.permission_number = p.number AND v.until_import IS NULL
               WHERE p.application_id = asked.application_id
                     AND permission_in_any_case(p.header, p.section, p.permission)
                         = permission_in_any_case(asked.header, asked.section, asked.permission)
               UNION
               SELECT group_header(v.nomenclature), '', g.name FROM groups g
               JOIN group_versions v ON v.group_number = g.number AND v.until_import IS NULL
               WHERE g.application_id = asked.application_id AND asked.section = ''
                     AND in_any_case(g.name) = in_any_case(asked.permission)
                     AND in_any_case(group_header(v.nomenclature)) = in_any_case(asked.header)
           ) AS fits
           GROUP BY asked.n HAVING count(*) = 1""",
        applications=[application_id for application_id, _ in asked],
        headers=[name.header for _, name in asked],
        sections=[name.section for _, name in asked],
        permissions=[name.permission for _, name in asked],
    )
    stored = {n - 1: PermissionName(*name) for n, *name in rows}
    return [stored.get(n, name) for n, (_, name) in enumerate(asked)]


async def groups_as_stored(db: Db, asked: Sequence[tuple[UUID, str]]) -> list[str]:
    rows = await fetch_rows(
        db,
        """SELECT asked.n, min(g.name)
           FROM unnest(%(applications)s::uuid[], %(names)s::text[]) WITH ORDINALITY AS asked (application_id, name, n)
           JOIN groups g ON g.application_id = asked.application_id AND in_any_case(g.name) = in_any_case(asked.name)
           JOIN group_versions v ON v.group_number = g.number AND v.until_import IS NULL
           GROUP BY asked.n HAVING count(*) = 1""",
        applications=[application_id for application_id, _ in asked],
        names=[name for _, name in asked],
    )
    stored: dict[int, str] = {n - 1: name for n, name in rows}
    return [stored.get(n, name) for n, (_, name) in enumerate(asked)]
