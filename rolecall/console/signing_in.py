"""Read who signs in to the console: sessions, people with their roles and e-mails, and passwords."""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.console.model import Person, Session, sha256
from rolecall.core.db import Db, fetch_all, fetch_one, fetch_rows, fetch_value
from rolecall.core.roles import Role
from rolecall.identities.model import NOT_PEOPLE

SIGN_IN_EMAIL = """coalesce((SELECT u.sign_in_email FROM unconfirmed_emails u WHERE u.identity_id = i.id),
                            i.email_address)"""
# The columns of a person `i` with the assigned role `r`, in the order of Person.
PERSON_COLUMNS = f"""
    i.id, i.first_name || ' ' || i.last_name AS name, coalesce(r.email, {SIGN_IN_EMAIL}) AS email, r.role, i.title,
    EXISTS (SELECT FROM identities b WHERE b.supervisor_id = i.id) AS supervises,
    EXISTS (SELECT FROM applications a WHERE a.owner_id = i.id OR i.id = ANY(a.provisioner_ids))
    OR EXISTS (SELECT FROM entitlements e WHERE e.owner_id = i.id AND e.list_key IS NOT NULL)
    OR EXISTS (SELECT FROM access_models m WHERE coalesce(m.definition, m.draft) ->> 'ownerId' = i.id::text) AS owns"""
# An additional column: the people for whom the person responds at %(now)s.
REPRESENTED = "array(SELECT f.type || ' ' || f.reviewer_id FROM responds_for(i.id, %(now)s) f) AS stands_in_for"
_PERSON = f"""
    SELECT {PERSON_COLUMNS}, '{{}}'::text[] AS stands_in_for
    FROM identities i LEFT JOIN console_roles r ON r.identity_id = i.id"""
_NOT_PEOPLE = ", ".join(f"'{type}'" for type in NOT_PEOPLE)
# A condition for who may sign in: active people, and other active identities (such as mailboxes) with a role.
MAY_SIGN_IN = f"i.status = 'Active' AND (r.role IS NOT NULL OR i.type NOT IN ({_NOT_PEOPLE}))"


async def session(db: Db, secret: str, now: datetime) -> Session | None:
    found = await fetch_one(
        db,
        Session,
        """SELECT sha256, identity_id, created_at, seen_at, notice, notice_kind
           FROM console_sessions WHERE sha256 = %(sha256)s""",
        sha256=sha256(secret),
    )
    return found if found and found.is_live(now) else None


async def person_of(db: Db, identity_id: UUID, now: datetime) -> Person | None:
    """Return a person, including the people for whom they respond; None if they must not sign in."""
    return await fetch_one(
        db,
        Person,
        f"""SELECT {PERSON_COLUMNS}, {REPRESENTED}
            FROM identities i LEFT JOIN console_roles r ON r.identity_id = i.id
            WHERE i.id = %(id)s AND {MAY_SIGN_IN}""",
        id=identity_id,
        now=now,
    )


async def person_with_id(db: Db, id: UUID) -> Person | None:
    """Return a person, without the people for whom they respond; None if they must not sign in."""
    return await fetch_one(db, Person, f"{_PERSON} WHERE i.id = %(id)s AND {MAY_SIGN_IN}", id=id)


async def scopes_of(db: Db, identity_id: UUID) -> frozenset[str]:
    """Return the scopes of a person for everyone's records; none if the person left or is limited to their own."""
    person = await fetch_one(db, Person, f"{_PERSON} WHERE i.id = %(id)s AND i.status = 'Active'", id=identity_id)
    return person.caller().scopes if person and not person.is_limited else frozenset()


def same_email(column: str) -> str:
    """Return SQL that compares a column with the parameter `email`, ignoring the case of ASCII letters.

    The first condition uses the index. The second excludes false matches: some locales equate K with the Kelvin sign.
    """
    return f'lower({column}) = lower(%(email)s) AND lower({column} COLLATE "C") = lower(%(email)s::text COLLATE "C")'


async def person_with_email(db: Db, email: str) -> Person | None:
    """Return the person who signs in with this e-mail: someone whose role has it, or else an identity without a role.

    E-mails of identities can be reassigned. Therefore, if someone's role has the e-mail, only that person can sign in
    with it. Without a role, nobody can sign in with an e-mail that is not confirmed or that several active identities
    have.
    """
    return await fetch_one(
        db,
        Person,
        f"""WITH bearers AS MATERIALIZED (
                SELECT o.id FROM identities o
                WHERE {same_email("o.email_address")} AND o.email_address <> '' AND o.status = 'Active'
                  AND NOT EXISTS (SELECT FROM unconfirmed_emails u WHERE u.identity_id = o.id)
                UNION
                SELECT o.id FROM unconfirmed_emails u JOIN identities o ON o.id = u.identity_id AND o.status = 'Active'
                WHERE {same_email("u.sign_in_email")} AND u.sign_in_email <> '')
            {_PERSON} WHERE {same_email("r.email")} AND r.email <> '' AND i.status = 'Active'
            UNION ALL
            {_PERSON} WHERE r.identity_id IS NULL AND {MAY_SIGN_IN}
            AND i.id = (SELECT min(b.id::text)::uuid FROM bearers b HAVING count(*) = 1)
            AND NOT EXISTS (SELECT FROM console_roles c WHERE lower(c.email) = lower(%(email)s))
            LIMIT 1""",
        email=email,
    )


async def administrators(db: Db) -> list[str]:
    """Return the names of up to three administrators whom a person can ask for a role."""
    rows = await fetch_rows(
        db,
        """SELECT i.id, i.first_name || ' ' || i.last_name
           FROM identities i JOIN console_roles r ON r.identity_id = i.id
           WHERE r.role = 'Administrator' AND i.status = 'Active' ORDER BY i.list_key LIMIT 3""",
    )
    return [name for _, name in rows]


async def password_of(db: Db, person: Person) -> str | None:
    argon2 = await fetch_value(db, "SELECT argon2 FROM console_passwords WHERE identity_id = %(id)s", id=person.id)
    return None if argon2 is None else str(argon2)


class ConsolePerson(msgspec.Struct, frozen=True, rename="camel"):
    id: UUID
    name: str
    email: str
    status: str
    role: Role
    has_password: bool
    seen_at: datetime | None


async def console_people(db: Db) -> list[ConsolePerson]:
    return await fetch_all(
        db,
        ConsolePerson,
        """SELECT i.id, i.first_name || ' ' || i.last_name AS name, r.email, i.status, r.role,
                  EXISTS (SELECT FROM console_passwords p WHERE p.identity_id = i.id) AS has_password,
                  (SELECT max(seen_at) FROM console_sessions s WHERE s.identity_id = i.id) AS seen_at
           FROM console_roles r JOIN identities i ON i.id = r.identity_id ORDER BY i.list_key""",
    )
