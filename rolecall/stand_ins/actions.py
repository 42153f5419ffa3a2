"""Name stand-ins and end them early. schema/stand_ins.sql determines who responds for whom at a given time."""

from datetime import datetime
from uuid import UUID

from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Forbidden, Invalid, Problem
from rolecall.core.ids import known_guid, new_id
from rolecall.core.roles import Role
from rolecall.identities import queries as identities
from rolecall.identities.model import NOT_PEOPLE, IdentityStatus
from rolecall.stand_ins import queries
from rolecall.stand_ins.model import MOST
from rolecall.stand_ins.shapes import StandInBody, StandInItem
from rolecall.tokens.queries import own_id

_NO_PERSON = "Identity ID is required, because this token belongs to no person: name the person who needs the stand-in"
_LOOP = "{} stands in for {}, directly or through others, in this period. Choose another person or other dates"


async def create_stand_in(db: Db, caller: Caller, raw: Json, facts: Facts) -> StandInItem:
    """Name a stand-in for the caller or, with `config:manage`, for another person."""
    own = await own_id(db, caller)
    known = await identities.with_mentioned_identities(db, facts, raw)
    body = check(StandInBody, raw, known)
    person = body.identity_id or own
    # For a token without an owner, `own` is the id of the token, not of a person.
    if body.identity_id is None and not await fetch_value(db, "SELECT true FROM identities WHERE id = %(id)s", id=own):
        raise Invalid.on("identityId", _NO_PERSON)
    if person != own and Scope.CONFIG_MANAGE not in caller.scopes:
        raise Forbidden(Scope.CONFIG_MANAGE)
    # Serialize changes: two stand-ins that are named at the same time could overlap or form a cycle.
    await execute(db, "LOCK TABLE stand_ins IN SHARE ROW EXCLUSIVE MODE")
    await _require_possible(db, person, body, facts)
    id = new_id()
    # Fires the trigger notify_of_new_stand_in in schema/notifications.sql.
    await execute(
        db,
        """INSERT INTO stand_ins
               (id, identity_id, stand_in_id, type, starts_on, ends_on, comment, created_date, created_by)
           VALUES (%(id)s, %(person)s, %(stand_in)s, %(type)s, %(starts)s, %(ends)s, %(comment)s, %(now)s, %(by)s)""",
        id=id,
        person=person,
        stand_in=body.stand_in_id,
        type=body.type,
        # Never start in the past: the record would seem to cover decisions that were made before it.
        starts=max(body.starts_on or facts.now, facts.now),
        ends=body.ends_on,
        comment=body.comment,
        now=facts.now,
        by=caller.name,
    )
    return await queries.get(db, id, facts.now)


async def _require_possible(db: Db, person: UUID, body: StandInBody, facts: Facts) -> None:
    if person == body.stand_in_id:
        raise Invalid.on("standInId", "The stand-in must be another person")
    stand_in = await identities.get(db, str(body.stand_in_id))
    name = f"{stand_in.first_name} {stand_in.last_name}"
    role = await fetch_value(db, "SELECT role FROM console_roles WHERE identity_id = %(id)s", id=stand_in.id)
    problems = []
    if stand_in.status != IdentityStatus.ACTIVE:
        problems.append(Problem("standInId", f"{name} is {stand_in.status} and cannot sign in; choose another person"))
    elif stand_in.type in NOT_PEOPLE and role is None:
        problems.append(
            Problem("standInId", f"{name} is of type {stand_in.type}, which cannot sign in; choose another person")
        )
    if role == Role.AUDITOR:
        problems.append(Problem("standInId", f"{name} has the role Auditor and cannot decide; choose another person"))
    if overlap := await _overlapping(db, person, body, facts):
        problems.append(Problem("startsOn", overlap))
    if await _is_represented(db, person, body, facts.now):
        who = await identities.get(db, str(person))
        problems.append(Problem("standInId", _LOOP.format(f"{who.first_name} {who.last_name}", name)))
    if problems:
        raise Invalid(*problems)
    count = "SELECT count(*) FROM stand_ins WHERE identity_id = %(id)s AND ends_on > %(now)s"
    if await fetch_value(db, count, id=person, now=facts.now) >= MOST:
        raise Conflict(f"A person can have at most {MOST} current and planned stand-ins. End some of them first")


async def _overlapping(db: Db, person: UUID, body: StandInBody, facts: Facts) -> str | None:
    """Return a message about another stand-in for the same type in the same period, or None."""
    rows = await fetch_rows(
        db,
        # Stand-ins for one type and for all types may overlap: the one for the type takes precedence.
        """SELECT d.first_name || ' ' || d.last_name, s.starts_on, s.ends_on
           FROM stand_ins s JOIN identities d ON d.id = s.stand_in_id
           WHERE s.identity_id = %(person)s AND s.type IS NOT DISTINCT FROM %(type)s
             AND s.starts_on < %(ends)s AND s.ends_on > %(starts)s ORDER BY s.starts_on LIMIT 1""",
        person=person,
        type=body.type,
        starts=body.starts_on or facts.now,
        ends=body.ends_on,
    )
    if not rows:
        return None
    name, *period = rows[0]
    since, until = (f"{moment.astimezone(facts.zone):%Y-%m-%d %H:%M}" for moment in period)
    return f"{name} already stands in from {since} until {until}. End that stand-in first, or choose other dates"


async def _is_represented(db: Db, person: UUID, body: StandInBody, now: datetime) -> bool:
    """Return whether the person already represents the chosen stand-in in this period, directly or through others."""
    return bool(
        await fetch_value(
            db,
            # UNION without ALL ends the recursion if other stand-ins form a cycle.
            """WITH RECURSIVE named AS (
                   SELECT stand_in_id, greatest(starts_on, %(starts)s) AS since, least(ends_on, %(ends)s) AS until
                   FROM stand_ins WHERE identity_id = %(stand_in)s AND starts_on < %(ends)s AND ends_on > %(starts)s
                     AND (type IS NULL OR %(type)s::text IS NULL OR type = %(type)s)
                   UNION
                   SELECT s.stand_in_id, greatest(s.starts_on, n.since), least(s.ends_on, n.until)
                   FROM named n JOIN stand_ins s ON s.identity_id = n.stand_in_id
                    AND s.starts_on < n.until AND s.ends_on > n.since
                    AND (s.type IS NULL OR %(type)s::text IS NULL OR s.type = %(type)s)
                   WHERE n.stand_in_id <> %(person)s)
               SELECT true FROM named WHERE stand_in_id = %(person)s LIMIT 1""",
            person=person,
            stand_in=body.stand_in_id,
            type=body.type,
            starts=body.starts_on or now,
            ends=body.ends_on,
        )
    )


async def end_stand_in(db: Db, caller: Caller, id: str, now: datetime) -> None:
    """End a stand-in now, or delete one that has not started.

    To end the stand-in of another person, the caller needs `config:manage`.
    """
    found = await queries.get(db, known_guid("Stand-in", id), now)
    if found.identity.id != await own_id(db, caller) and Scope.CONFIG_MANAGE not in caller.scopes:
        raise Forbidden(Scope.CONFIG_MANAGE)
    if found.ends_on <= now:
        raise Conflict("This stand-in has already ended")
    sql = "DELETE FROM stand_ins WHERE id = %(id)s AND starts_on >= %(now)s"
    if not await execute(db, sql, id=found.id, now=now):
        # Fires the trigger notify_of_ended_stand_in in schema/notifications.sql.
        await execute(db, "UPDATE stand_ins SET ends_on = %(now)s WHERE id = %(id)s", id=found.id, now=now)
