"""Identify people in a configuration by confirmed e-mail, by employee ID, or by id if neither identifies the person."""

from collections.abc import Iterable
from uuid import UUID

from rolecall.core.db import Db, fetch_rows


async def names_of(db: Db, ids: Iterable[UUID | None]) -> dict[UUID | None, str]:
    """Return a name for each person.

    It is the e-mail if it is confirmed and unique, else the employee ID if it is unique, else the id.
    """
    rows = await fetch_rows(
        db,
        """SELECT i.id, coalesce(
                      CASE WHEN i.email_address <> '' AND NOT EXISTS (
                          SELECT FROM unconfirmed_emails u
                          WHERE u.identity_id = i.id OR lower(u.sign_in_email) = lower(i.email_address))
                      AND NOT EXISTS (
                          SELECT FROM identities o WHERE lower(o.email_address) = lower(i.email_address)
                                                     AND o.email_address <> '' AND o.id <> i.id)
                      THEN i.email_address END,
                      CASE WHEN i.employee_id <> '' AND NOT EXISTS (
                          SELECT FROM identities o WHERE lower(o.employee_id) = lower(i.employee_id) AND o.id <> i.id)
                      THEN i.employee_id END, i.id::text)
           FROM identities i WHERE i.id = ANY(%(ids)s)""",
        ids=[id for id in ids if id],
    )
    return dict(rows)
