from datetime import datetime

from rolecall.console.model import Person, Session, sha256
from rolecall.core.db import Db, fetch_one, fetch_value

_PERSON = """
    SELECT i.id, i.first_name || ' ' || i.last_name AS name, i.email_address AS email, r.role
    FROM identities i JOIN console_roles r ON r.identity_id = i.id"""


async def session(db: Db, secret: str, now: datetime) -> Session | None:
    found = await fetch_one(
        db,
        Session,
        """SELECT sha256, identity_id, created_at, seen_at, notice, notice_kind
           FROM console_sessions WHERE sha256 = %(sha256)s""",
        sha256=sha256(secret),
    )
    return found if found and found.is_live(now) else None


async def person_of(db: Db, session: Session) -> Person | None:
    """A person who is no longer active, or has lost the role, is nobody on the next request."""
    return await fetch_one(db, Person, f"{_PERSON} WHERE i.id = %(id)s AND i.status = 'Active'", id=session.identity_id)


async def person_with_email(db: Db, email: str) -> Person | None:
    return await fetch_one(
        db,
        Person,
        f"""{_PERSON} WHERE lower(i.email_address) = lower(%(email)s) AND i.email_address <> '' AND i.status = 'Active'
            ORDER BY i.first_seen_date, i.id LIMIT 1""",
        email=email,
    )


async def password_of(db: Db, person: Person) -> str | None:
    argon2 = await fetch_value(db, "SELECT argon2 FROM console_passwords WHERE identity_id = %(id)s", id=person.id)
    return None if argon2 is None else str(argon2)
