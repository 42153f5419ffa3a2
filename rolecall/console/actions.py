"""Manage console users: roles, one-time links, passwords and sessions.

Secrets of links and sessions are stored as SHA-256 hashes, passwords as Argon2id hashes. When a person gets another
role or another e-mail for the sign-in, all their sessions and links become invalid. A new password invalidates all of
them except the session in which it was set.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

import msgspec

from rolecall.console import queries, signing_in
from rolecall.console.model import (
    ATTEMPT_LASTS,
    LINK_LASTS,
    LONGEST_EMAIL,
    NO_PASSWORD,
    SESSION_LASTS,
    SESSION_RESTS,
    SHORTEST_PASSWORD,
    Person,
    Session,
    SignInAttempt,
    hash_password,
    is_password,
    new_secret,
    sha256,
)
from rolecall.core.authors import SIGN, Author, AuthorKind, by, sign, signature, wait_to_revoke
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, check
from rolecall.core.db import Db, execute, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid, NotFound, RateLimited
from rolecall.core.roles import Role
from rolecall.identities import actions as identities
from rolecall.identities import administrators
from rolecall.identities import queries as identity_queries
from rolecall.identities.model import IdentityType
from rolecall.identities.shapes import NewIdentity
from rolecall.personnel_events.permitted import require_another_administrator
from rolecall.web.correlation import correlation_id

SIGN_IN_AGAIN = (
    "A first password can be set only within 10 minutes of signing in."
    " Sign in again with a new link or your identity provider"
)
# Record the last use of a session at most this often, to limit writes.
_SEEN_PRECISION = timedelta(minutes=1)
_HASHING = asyncio.Semaphore(2)
T = TypeVar("T")


async def create_administrator(db: Db, email: str, facts: Facts) -> str:
    """Make the person with this e-mail an administrator; create an identity if there is none.

    Return the secret of a one-time link.
    """
    person = await signing_in.person_with_email(db, email)
    identity_id = person.id if person else await _identity_with_email(db, email)
    if identity_id is None:
        # Guess the name: ada.lovelace@example.com is Ada Lovelace.
        first, _, last = email.partition("@")[0].partition(".")
        raw = {"firstName": first.title() or "Console", "lastName": last.title() or "Administrator", "email": email}
        body = check(NewIdentity, {**raw, "identityType": IdentityType.ADMINISTRATOR}, facts)
        identity_id = await identities.create_identity(db, body, facts.now)
    await set_role(db, identity_id, Role.ADMINISTRATOR, email)
    return await create_link(db, identity_id, facts.now)


async def _identity_with_email(db: Db, email: str) -> UUID | None:
    # Skip unconfirmed e-mails: they were set by callers who must not change how a person signs in.
    id: UUID | None = await fetch_value(
        db,
        """SELECT i.id FROM identities i WHERE lower(i.email_address) = lower(%(email)s) AND i.email_address <> ''
           AND i.status = 'Active' AND NOT EXISTS (SELECT FROM unconfirmed_emails u WHERE u.identity_id = i.id)
           ORDER BY i.first_seen_date, i.id LIMIT 1""",
        email=email,
    )
    return id


async def set_role(db: Db, identity_id: UUID, role: Role | None, email: str | None = None) -> None:
    """Give a person a role, or remove it; without a role a person sees only their own records.

    Any change invalidates the sessions and links of the person. Without `email`, the role keeps its e-mail; a new role
    gets the e-mail of the identity. The last active administrator cannot lose the role.
    """
    async with db.transaction():
        # The screen that changes roles holds this lock already; the command line does not.
        await wait_to_revoke(db)
        is_removed = role is not Role.ADMINISTRATOR and await administrators.is_one(db, identity_id)
        had = await fetch_rows(
            db, "DELETE FROM console_roles WHERE identity_id = %(id)s RETURNING role, email", id=identity_id
        )
        if role is not None:
            address = await _sign_in_email(db, identity_id, had[0][1] if had else None, email)
            await execute(
                db,
                "INSERT INTO console_roles (identity_id, role, email) VALUES (%(id)s, %(role)s, %(email)s)",
                id=identity_id,
                role=role,
                email=address,
            )
        if role is None or had != [(role, address)]:
            await _end_sign_ins(db, identity_id)
        # Check this last: an offboarding takes the same locks in the same order, so the two cannot deadlock.
        if is_removed:
            await require_another_administrator(db, identity_id)
        if not await administrators.active(db):
            raise Conflict("At least one active administrator must remain. Make another person an administrator first")


async def _sign_in_email(db: Db, identity_id: UUID, had: str | None, given: str | None) -> str:
    """Return the e-mail for the role: the given one, else the one of the current role (`had`), else the identity's.

    Raise Invalid if the e-mail is too long or not printable, or if the role of another person has it.
    """
    known = had if had is not None else await identity_queries.sign_in_email(db, identity_id)
    address = known if given is None else given.strip()
    if len(address) > LONGEST_EMAIL or not address.isprintable():
        raise Invalid.on("email", f"E-mail must be at most {LONGEST_EMAIL} printable characters")
    others = "SELECT identity_id FROM console_roles WHERE lower(email) = lower(%(email)s) AND email <> ''"
    if other := await fetch_value(db, others, email=address):
        name = (await queries.people_names(db, [other]))[other]
        raise Invalid.on("email", f"{name} already signs in with {address}. Enter another e-mail")
    return address


async def _end_sign_ins(db: Db, identity_id: UUID, but: bytes = b"") -> None:
    """Delete all links and sessions of a person except the session with the hash `but`.

    The links are deleted first: otherwise a link that is used at the same time could open a new session.
    """
    await execute(db, "DELETE FROM sign_in_links WHERE identity_id = %(id)s", id=identity_id)
    await execute(
        db, "DELETE FROM console_sessions WHERE identity_id = %(id)s AND sha256 <> %(but)s", id=identity_id, but=but
    )


async def create_link(db: Db, identity_id: UUID, now: datetime, lasts: timedelta = LINK_LASTS) -> str:
    if not await signing_in.person_with_id(db, identity_id):
        raise NotFound("Person", identity_id)
    secret = new_secret()
    await execute(
        db,
        "INSERT INTO sign_in_links (sha256, identity_id, expires_at) VALUES (%(sha256)s, %(id)s, %(expires_at)s)",
        sha256=sha256(secret),
        id=identity_id,
        expires_at=now + lasts,
    )
    return secret


async def delete_link(db: Db, link: str) -> None:
    await execute(db, "DELETE FROM sign_in_links WHERE sha256 = %(sha256)s", sha256=sha256(link))


async def sign_in_by_link(db: Db, link: str, now: datetime) -> str | None:
    """Use a one-time link; return the secret of the new session, or None.

    A link fails if it is unknown, used or expired, or if its person must not sign in.
    """
    # One statement checks and uses the link, so that two requests at the same time cannot both use it.
    identity_id = await fetch_value(
        db,
        """UPDATE sign_in_links l SET used_at = %(now)s FROM identities i
           WHERE l.sha256 = %(sha256)s AND l.used_at IS NULL AND l.expires_at > %(now)s
           AND i.id = l.identity_id AND i.status = 'Active' RETURNING l.identity_id""",
        sha256=sha256(link),
        now=now,
    )
    return None if identity_id is None else await _open_session(db, identity_id, now)


async def sign_in_by_password(db: Db, email: str, password: str, now: datetime) -> str | None:
    person = await signing_in.person_with_email(db, email)
    argon2 = await signing_in.password_of(db, person) if person else None
    matches = await _hash_in_thread(is_password, password, argon2 or NO_PASSWORD)
    if not (person and argon2 and matches and await _is_current_password(db, person, argon2)):
        return None
    return await _open_session(db, person.id, now)


async def _is_current_password(db: Db, person: Person, argon2: str) -> bool:
    """Lock the stored hash, and return whether it is still `argon2`.

    The password may have changed during the verification.
    """
    return bool(
        await fetch_value(
            db,
            "SELECT true FROM console_passwords WHERE identity_id = %(id)s AND argon2 = %(argon2)s FOR SHARE",
            id=person.id,
            argon2=argon2,
        )
    )


async def begin_attempt(db: Db, state: str, attempt: SignInAttempt, now: datetime) -> None:
    await execute(
        db,
        """INSERT INTO sign_in_attempts (sha256, nonce, verifier, next, expires_at)
           VALUES (%(sha256)s, %(nonce)s, %(verifier)s, %(next)s, %(expires_at)s)""",
        sha256=sha256(state),
        expires_at=now + ATTEMPT_LASTS,
        **msgspec.structs.asdict(attempt),
    )


async def end_attempt(db: Db, state: str, now: datetime) -> SignInAttempt | None:
    """Delete and return a sign-in attempt, so that `state` works only once; None if it is unknown or expired."""
    return await fetch_one(
        db,
        SignInAttempt,
        """DELETE FROM sign_in_attempts WHERE sha256 = %(sha256)s AND expires_at > %(now)s
           RETURNING nonce, verifier, next""",
        sha256=sha256(state),
        now=now,
    )


async def sign_in_by_email(db: Db, email: str, now: datetime) -> str | None:
    """Sign in the person with the e-mail that the OpenID provider verified; return the secret of the session.

    Return None if nobody may sign in with this e-mail.
    """
    person = await signing_in.person_with_email(db, email)
    return await _open_session(db, person.id, now) if person else None


async def _hash_in_thread(hashing: Callable[..., T], *words: str) -> T:
    """Run a hash function in a thread.

    Raise RateLimited while two others run, because each takes 64 MiB and 0.1 s of CPU time.
    """
    if _HASHING.locked():
        raise RateLimited(1)
    async with _HASHING:
        return await asyncio.to_thread(hashing, *words)


async def change_password(db: Db, person: Person, session: Session, current: str, new: str, now: datetime) -> None:
    """Set a password. Require proof of identity, because another person may be using the session.

    The proof is the current password or, for a first password, a sign-in by link or provider a few minutes ago.
    """
    argon2 = await signing_in.password_of(db, person)
    if argon2 and not await _hash_in_thread(is_password, current, argon2):
        raise Invalid.on("current", "The current password is wrong")
    if not argon2 and not session.may_set_first_password(now):
        raise Conflict(SIGN_IN_AGAIN)
    await set_password(db, person.id, new, now, session)


async def set_password(db: Db, identity_id: UUID, password: str, now: datetime, session: Session | None = None) -> None:
    """Set a password. End all links of the person, and all sessions except `session`."""
    if len(password) < SHORTEST_PASSWORD:
        raise Invalid.on("password", f"Password must be at least {SHORTEST_PASSWORD} characters")
    await execute(
        db,
        """INSERT INTO console_passwords (identity_id, argon2, set_at) VALUES (%(id)s, %(argon2)s, %(now)s)
           ON CONFLICT (identity_id) DO UPDATE SET argon2 = EXCLUDED.argon2, set_at = EXCLUDED.set_at""",
        id=identity_id,
        argon2=await _hash_in_thread(hash_password, password),
        now=now,
    )
    await _end_sign_ins(db, identity_id, session.sha256 if session else b"")


async def sign_out(db: Db, session: Session) -> None:
    await execute(db, "DELETE FROM console_sessions WHERE sha256 = %(sha256)s", sha256=session.sha256)


async def sign_as_person(db: Db, session: Session, author: Author) -> Person | None:
    """Record the person of the session as the author of the transaction, and return the person.

    Return None if the session has ended or the person may no longer sign in.

    The calling code must call this in the transaction that writes; the session and the role are locked until its end.
    The identity needs no lock, because disabling it deletes the locked session.
    """
    # A subquery locks the role, because FOR KEY SHARE cannot lock the optional side of an outer join.
    rows = await fetch_rows(
        db,
        f"""SELECT {signing_in.PERSON_COLUMNS}, {signing_in.REPRESENTED}, {SIGN}
            FROM console_sessions s JOIN identities i ON i.id = s.identity_id
            LEFT JOIN LATERAL (SELECT c.role, c.email FROM console_roles c WHERE c.identity_id = s.identity_id
                               FOR KEY SHARE) r ON true
            WHERE s.sha256 = %(sha256)s AND {signing_in.MAY_SIGN_IN}
            AND s.seen_at > %(seen_after)s AND s.created_at > %(created_after)s FOR KEY SHARE OF s""",
        sha256=session.sha256,
        seen_after=author.created_date - SESSION_RESTS,
        created_after=author.created_date - SESSION_LASTS,
        author=signature(author),
        now=author.created_date,
    )
    # Leave out the last column, which is the result of SIGN.
    return Person(*rows[0][:-1]) if rows else None


async def mark_seen(db: Db, session: Session, now: datetime) -> None:
    """Record when the session was last used, and delete the notice that was shown.

    Without a notice, record the time at most once a minute.
    """
    if session.notice is None and now - session.seen_at < _SEEN_PRECISION:
        return
    await execute(
        db,
        """UPDATE console_sessions SET seen_at = %(now)s, notice = NULL, notice_kind = NULL
           WHERE sha256 = %(sha256)s""",
        sha256=session.sha256,
        now=now,
    )


async def leave_notice(db: Db, session: Session, text: str, kind: str) -> None:
    """Store a notice for the next page of the session."""
    await execute(
        db,
        "UPDATE console_sessions SET notice = %(text)s, notice_kind = %(kind)s WHERE sha256 = %(sha256)s",
        sha256=session.sha256,
        text=text,
        kind=kind,
    )


async def delete_old_sessions(db: Db, now: datetime) -> None:
    await execute(db, "DELETE FROM console_sessions WHERE created_at < %(oldest)s", oldest=now - SESSION_LASTS)
    await execute(db, "DELETE FROM sign_in_links WHERE expires_at < %(oldest)s", oldest=now - SESSION_LASTS)
    await execute(db, "DELETE FROM sign_in_attempts WHERE expires_at < %(now)s", now=now)
    await execute(db, "DELETE FROM sign_in_mails WHERE asked_at < %(oldest)s", oldest=now - timedelta(hours=2))


async def _open_session(db: Db, identity_id: UUID, now: datetime) -> str | None:
    """Open a session, with the person as audit author; return its secret, or None if the person must not sign in."""
    # Wait for a concurrent change of the role: it deletes all sessions, and would miss one that is opened meanwhile.
    await execute(db, "SELECT FROM console_roles WHERE identity_id = %(id)s FOR SHARE", id=identity_id)
    if not await signing_in.person_with_id(db, identity_id):
        return None
    secret = new_secret()
    name = (await queries.people_names(db, [identity_id]))[identity_id]
    caller = Caller(identity_id, name, frozenset())
    async with db.transaction():
        await sign(db, by(AuthorKind.PERSON, caller, "sign_in", now, correlation_id.get()))
        await execute(
            db,
            """INSERT INTO console_sessions (sha256, identity_id, created_at, seen_at)
               VALUES (%(sha256)s, %(id)s, %(now)s, %(now)s)""",
            sha256=sha256(secret),
            id=identity_id,
            now=now,
        )
    return secret
