"""Create, change, disable and remove identities. Database triggers update the data that depends on them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from rolecall.core.db import Db, execute
from rolecall.core.ids import new_id
from rolecall.core.text import sort_key
from rolecall.identities import administrators
from rolecall.identities.model import IdentityType
from rolecall.identities.shapes import IdentityFields, NewIdentity
from rolecall.settings.model import CUSTOM_FIELDS

# The column of each field of a body.
_COLUMNS = {
    "first_name": "first_name",
    "last_name": "last_name",
    "email": "email_address",
    "supervisor_id": "supervisor_id",
    "company": "company",
    "division": "division",
    "department": "department",
    "office": "office",
    "title": "title",
    "identity_type": "type",
}


async def create_identity(db: Db, body: NewIdentity, now: datetime) -> UUID:
    id = new_id()
    columns = {"id": id, "type": IdentityType.EMPLOYEE, "custom_fields": Jsonb(custom_fields(body)), **columns_of(body)}
    columns |= {"created_date": now, "updated_date": now, "first_seen_date": now}
    names = ", ".join(columns)
    values = ", ".join(f"%({name})s" for name in columns)
    # Fires triggers of other packages: schema/identities.sql lists them.
    await execute(db, f"INSERT INTO identities ({names}) VALUES ({values})", **columns)
    return id


def columns_of(body: IdentityFields) -> dict[str, object]:
    """Return the values of the given fields by column, including the sort keys of names."""
    given = {column: getattr(body, field) for field, column in _COLUMNS.items() if _is_given(body, field)}
    keys = {f"{name}_key": sort_key(str(given[name])) for name in ("last_name", "first_name") if name in given}
    return {**given, **keys}


def _is_given(body: IdentityFields, field: str) -> bool:
    """Return whether a body sets a field. None means not set, but an explicit None removes the supervisor."""
    return getattr(body, field) is not None or (field == "supervisor_id" and field in body.model_fields_set)


def custom_fields(body: IdentityFields) -> dict[str, str]:
    """Return the given custom fields by their number, such as `{"3": "blue"}`."""
    return {str(n): value for n in CUSTOM_FIELDS if (value := getattr(body, f"custom_field_{n}")) is not None}


async def change_identity(
    db: Db, id: UUID, columns: Mapping[str, object], custom: Mapping[str, str], now: datetime
) -> None:
    """Set `columns` (from `columns_of`); custom fields that are not given keep their values."""
    assignments = "".join(f"{name} = %({name})s, " for name in columns)
    # Fires triggers of other packages: schema/identities.sql lists them.
    await execute(
        db,
        f"""UPDATE identities SET {assignments} custom_fields = custom_fields || %(custom)s, updated_date = %(now)s
            WHERE id = %(id)s""",
        **columns,
        id=id,
        custom=Jsonb(custom),
        now=now,
    )


async def confirm_email(db: Db, id: UUID) -> None:
    """Let a person sign in with their current e-mail; a trigger does this whenever the e-mail changes."""
    # Fires note_to_match (schema/accounts.sql).
    await execute(db, "DELETE FROM unconfirmed_emails WHERE identity_id = %(id)s", id=id)


async def withhold_email(db: Db, id: UUID, sign_in_email: str, now: datetime) -> None:
    """Let a person sign in only with `sign_in_email` until their current e-mail is confirmed.

    If an earlier change of e-mail is not confirmed yet, keep its sign-in e-mail. But an empty `sign_in_email` always
    replaces it, so that the person cannot sign in by e-mail.
    """
    # Fires note_to_match (schema/accounts.sql).
    await execute(
        db,
        """INSERT INTO unconfirmed_emails (identity_id, sign_in_email, set_on) VALUES (%(id)s, %(email)s, %(now)s)
           ON CONFLICT (identity_id) DO UPDATE SET sign_in_email = '' WHERE EXCLUDED.sign_in_email = ''""",
        id=id,
        email=sign_in_email,
        now=now,
    )


class _IsLast(Exception):
    """Raised to roll back a change that would leave no active administrator."""


async def disable_unless_last(db: Db, id: UUID, since: datetime, now: datetime) -> bool:
    """Disable an identity; if it is the last active administrator, change nothing and return False.

    Disable first and lock administrators second: disabling locks the person's sessions, and locks must be taken in this
    order. Lock them for every person, because one may become an administrator before this transaction ends, and
    the role of the last other administrator may then be removed.
    """
    try:
        async with db.transaction():
            await disable_identity(db, id, since, now)
            await administrators.lock_administrators(db)
            if await administrators.has_role(db, id) and not await administrators.active(db):
                raise _IsLast
    except _IsLast:
        return False
    return True


async def disable_identity(db: Db, id: UUID, since: datetime, now: datetime) -> None:
    """Disable an identity; an identity that is already disabled or removed stays unchanged."""
    # Fires triggers of other packages: schema/identities.sql lists them.
    await execute(
        db,
        """UPDATE identities SET status = 'Disabled', inactivated_date = %(since)s, updated_date = %(now)s
           WHERE id = %(id)s AND status = 'Active'""",
        id=id,
        since=since,
        now=now,
    )


async def remove_identities(db: Db, ids: Sequence[UUID], now: datetime) -> None:
    """Mark identities as Removed; their history stays."""
    if not ids:
        return
    # Fires triggers of other packages: schema/identities.sql lists them.
    await execute(
        db,
        """UPDATE identities SET status = 'Removed', inactivated_date = %(now)s, updated_date = %(now)s
           WHERE id = ANY(%(ids)s)""",
        ids=list(ids),
        now=now,
    )
