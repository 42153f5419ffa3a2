"""Set and remove the carrier of an application; preview or release requests, or give a request to the carrier."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.access_requests import moving
from rolecall.applications.queries import lock_application
from rolecall.carriers import queries, recording
from rolecall.carriers.model import CARRYING, CHANNEL, Carrier, CarrierKind, CarrierMode
from rolecall.carriers.shapes import CarriedRequestBody, CarrierBody, CarrierPreview, ReleaseBody
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.errors import Conflict, Forbidden, Invalid, NotFound, Problem
from rolecall.core.nudge import nudge
from rolecall.sources import queries as sources
from rolecall.sources.actions import credential_problems, delete_secret, keep_secret, url_problems
from rolecall.sources.references import SEALED
from rolecall.work_items.actions import record_activity_of

_IDENTITY_SOURCE = "An identity source describes people and cannot have a carrier"
# The keys that an LDAP carrier requires.
_LDAP_NEEDS = ("accountsPath", "accountAttribute", "objectClasses", "groupsPath", "groupAttribute", "memberAttribute")
# The keys that only one kind of carrier uses.
_OF_LDAP = frozenset(
    {"objectClasses", "nameAttribute", "activeAttribute", "activeValue", "inactiveValue", "memberAttribute"}
    | {"memberValue", "startTls"}
)
_OF_SCIM = frozenset({"authentication", "header", "headers"})
# The SCIM attributes that contain the name of an account and whether it is active.
_SCIM_NAME, _SCIM_ACTIVE = "userName", "active"
FOREIGN = {CarrierKind.SCIM: _OF_LDAP, CarrierKind.LDAP: _OF_SCIM}


async def put_carrier(db: Db, application_id: UUID, raw: Json, facts: Facts, config: Config) -> None:
    """Set the carrier and its secret. If the mode is not On, leave unfinished requests to people."""
    # Lock against a concurrent change of the application: an identity source and a carrier exclude each other.
    await lock_application(db, application_id)
    application = await sources.application(db, application_id)
    if application.is_identity_source:
        raise Invalid.on("kind", _IDENTITY_SOURCE)
    body = check(CarrierBody, raw, facts, [*url_problems(raw, config)])
    # These rules need a valid body, so they are checked after the others.
    problems = list(_key_problems(body))
    if problems:
        check(CarrierBody, raw, facts, problems)
    carrier = body.as_carrier(body.secret_ref or (SEALED if body.secret else ""))
    await queries.lock(db, application_id)
    if carrier.mode is not CarrierMode.ON:
        await _leave_unfinished(db, application_id, f"the mode of the carrier was set to {carrier.mode}", facts.now)
    await _store(db, application_id, carrier, facts)
    await keep_secret(db, application_id, CARRYING, carrier.as_source(), body.secret, facts.now, config)
    await nudge(db, CHANNEL)


async def _leave_unfinished(db: Db, application_id: UUID, reason: str, now: datetime) -> None:
    """Leave unfinished requests to people, so that the carrier does not continue them if it is switched on later."""
    for request_id in await queries.unfinished_requests(db, application_id):
        # Skip requests that are no longer open.
        with suppress(recording.NotNow):
            await recording.leave(db, request_id, reason, now)


async def _store(db: Db, application_id: UUID, carrier: Carrier, facts: Facts) -> None:
    """Store the carrier. A changed mode applies to requests that open from now on."""
    await execute(
        db,
        """INSERT INTO carriers AS c (application_id, definition, changed_on, mode_since)
           VALUES (%(id)s, %(definition)s, %(now)s, %(now)s)
           ON CONFLICT (application_id) DO UPDATE SET
               definition = EXCLUDED.definition, changed_on = EXCLUDED.changed_on,
               mode_since = CASE WHEN c.definition ->> 'mode' IS DISTINCT FROM EXCLUDED.definition ->> 'mode'
                                 THEN EXCLUDED.mode_since ELSE c.mode_since END
           WHERE c.definition <> EXCLUDED.definition""",
        id=application_id,
        definition=Jsonb(msgspec.to_builtins(carrier)),
        now=facts.now,
    )


def _key_problems(body: CarrierBody) -> Iterator[Problem]:
    """Yield the problems: keys that the kind does not use, missing keys, and keys that contradict each other."""
    given = body.model_dump(by_alias=True, exclude_defaults=True, exclude_none=True)
    for name in sorted(given.keys() & FOREIGN[body.kind]):
        yield Problem(name, f"{body.kind} does not use {name}")
    if body.kind is CarrierKind.LDAP:
        yield from (Problem(name, f"LDAP needs {name}") for name in _LDAP_NEEDS if name not in given)
    name_attribute = body.account_attribute or _SCIM_NAME
    if name_attribute.lower() in map(str.lower, body.attributes):
        yield Problem("attributes", f"{name_attribute} is the name of the account; set accountName instead")
    for name in body.changed_attributes:
        if name not in body.attributes:
            yield Problem("changedAttributes", f"{name} is not among the attributes; add it there")
        # The brake does not count a Change, so a Change must not be able to disable accounts.
        if name.lower() == (body.active_attribute or _SCIM_ACTIVE).lower():
            yield Problem("changedAttributes", f"{name} disables accounts, so a Change must not set it; remove it here")
    yield from credential_problems(body, body.secret)


async def delete_carrier(db: Db, application_id: UUID, now: datetime) -> None:
    """Remove the carrier with its secret, and leave its unfinished requests to people."""
    await sources.application(db, application_id)
    await queries.lock(db, application_id)
    await _leave_unfinished(db, application_id, "the carrier was removed", now)
    await delete_secret(db, application_id, CARRYING)
    if not await execute(db, "DELETE FROM carriers WHERE application_id = %(id)s", id=application_id):
        raise NotFound("Carrier of application", application_id)


async def preview(db: Db, caller: Caller, application_id: UUID, raw: Json, facts: Facts) -> CarrierPreview:
    """Return the steps that the carrier would send for a request. Record and send nothing."""
    # The route requires only `config:manage`, but the preview shows the content of a request.
    if Scope.ACCESS_REQUESTS_READ not in caller.scopes:
        raise Forbidden(Scope.ACCESS_REQUESTS_READ)
    carrier = await _existing(db, application_id)
    request = await queries.request_of(db, application_id, check(CarriedRequestBody, raw, facts).access_request_id)
    return await queries.previewed(db, carrier, request)


async def release(db: Db, caller: Caller, application_id: UUID, raw: Json, facts: Facts) -> None:
    """Release the held requests in the body, or all held requests if it lists none.

    The brake still applies to later requests.
    """
    await _existing(db, application_id)
    body = check(ReleaseBody, raw, facts)
    held = await fetch_rows(
        db,
        "SELECT request_id FROM carried_requests WHERE application_id = %(id)s AND state = 'Held'",
        id=application_id,
    )
    # Lock the requests, because one may be canceled or left to a person meanwhile.
    await moving.lock(db, [id for (id,) in held])
    rows = await fetch_rows(
        db,
        """UPDATE carried_requests k SET state = 'Waiting', reason = '', is_released = true, next_on = %(now)s,
               changed_on = %(now)s
           FROM access_requests r
           WHERE r.id = k.request_id AND r.status = 'Open' AND k.application_id = %(id)s AND k.state = 'Held'
             AND (%(all)s OR k.request_id = ANY(%(ids)s)) RETURNING k.request_id""",
        id=application_id,
        all=not body.access_request_ids,
        ids=body.access_request_ids,
        now=facts.now,
    )
    released = [id for (id,) in rows]
    if not released:
        raise Conflict("The brake of this carrier holds none of these requests; they may have been released already")
    said = f"{caller.name} released the request from the brake of the carrier"
    await record_activity_of(db, released, author=caller.name, action="Released", content=said, now=facts.now)
    await nudge(db, CHANNEL)


async def carry_out(db: Db, caller: Caller, application_id: UUID, raw: Json, facts: Facts) -> None:
    """Give an open request to the carrier, such as one that was left to a person or opened before the mode was On.

    Raise Conflict if the mode is not On, the request is not open, or the carrier already has it.
    """
    if Scope.ACCESS_REQUESTS_WRITE not in caller.scopes:
        raise Forbidden(Scope.ACCESS_REQUESTS_WRITE)
    # Lock the carrier before its mode is read: a carrier that is switched off must not have this request.
    await queries.lock(db, application_id)
    carrier = await _existing(db, application_id)
    request = await queries.request_of(db, application_id, check(CarriedRequestBody, raw, facts).access_request_id)
    if carrier.mode is not CarrierMode.ON:
        raise Conflict(f"The carrier is {carrier.mode}; set its mode to On first")
    try:
        opened_on = await recording.lock_open(db, request.id)
    except recording.NotNow:
        raise Conflict(f"An access request that is {request.status} cannot be carried out; it must be Open") from None
    await recording.take_up_again(db, request.id, opened_on, facts.now)
    said = f"{caller.name} gave the request to the carrier"
    await record_activity_of(db, [request.id], author=caller.name, action="Carry Out", content=said, now=facts.now)
    await nudge(db, CHANNEL)


async def _existing(db: Db, application_id: UUID) -> Carrier:
    await sources.application(db, application_id)
    carrier = await queries.find(db, application_id)
    if carrier is None:
        raise NotFound("Carrier of application", application_id)
    return carrier
