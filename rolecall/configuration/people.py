"""People in a configuration: by e-mail, by employee id, or, having neither of their own, by id."""

from collections.abc import Iterable
from uuid import UUID

from rolecall.core.db import Db, fetch_rows
from rolecall.core.ids import guid


async def names_of(db: Db, ids: Iterable[UUID | None]) -> dict[UUID | None, str]:
    """The first of the three that means nobody else."""
    rows = await fetch_rows(
        db,
        """SELECT i.id, coalesce(
                      CASE WHEN i.email_address <> '' AND NOT EXISTS (
                          SELECT FROM identities o WHERE lower(o.email_address) = lower(i.email_address)
                                                     AND o.email_address <> '' AND o.id <> i.id)
                      THEN i.email_address END,
                      nullif(i.employee_id, ''), i.id::text)
           FROM identities i WHERE i.id = ANY(%(ids)s)""",
        ids=[id for id in ids if id],
    )
    return dict(rows)


async def ids_of(db: Db, names: Iterable[str]) -> dict[str, list[UUID]]:
    """Whom each name may mean."""
    wanted = list(names)
    rows = await fetch_rows(
        db,
        """SELECT n.name, i.id FROM unnest(%(names)s::text[], %(ids)s::uuid[]) AS n (name, id) CROSS JOIN LATERAL (
               SELECT id FROM identities WHERE lower(email_address) = lower(n.name) AND email_address <> ''
               UNION SELECT id FROM identities WHERE employee_id = n.name
               UNION SELECT id FROM identities WHERE id = n.id) AS i""",
        names=wanted,
        ids=[guid(name) for name in wanted],
    )
    found: dict[str, list[UUID]] = {name: [] for name in wanted}
    for name, id in rows:
        found[name].append(id)
    return found
