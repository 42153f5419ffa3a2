"""Create and change applications with their connectors and schedules."""

from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from rolecall.applications.file_shape_body import stored_shape
from rolecall.applications.model import Content, no_such_group
from rolecall.applications.queries import lock_application
from rolecall.applications.shapes import (
    ApplicationChanges,
    ApplicationFields,
    ConnectorBody,
    NewApplication,
    ScheduleBody,
)
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Forbidden, Invalid, NotFound, Problem
from rolecall.core.ids import new_id
from rolecall.core.text import fold, sort_key
from rolecall.identities.queries import with_mentioned_identities
from rolecall.settings import queries as settings
from rolecall.settings.model import Guard


async def create_application(db: Db, raw: Json, facts: Facts, caller: Caller | None = None) -> UUID:
    """Create an application and return its ID. Without `caller`, as on the command line, check no rights."""
    _require_right(caller, raw, is_source=False)
    current = Current(guard=(await settings.get(db)).guard)
    facts = await with_mentioned_identities(db, facts, raw)
    body = check(NewApplication, raw, facts, await _rules_across(db, raw, current))
    id = new_id()
    columns = {"id": id, "last_updated": facts.now, **_columns_of(body, raw, current.guard)}
    try:
        await execute(
            db,
            f"INSERT INTO applications ({', '.join(columns)}) VALUES ({', '.join(f'%({name})s' for name in columns)})",
            **columns,
        )
    except UniqueViolation:
        raise _taken(body.name) from None
    await _set_parts(db, id, body, raw)
    return id


async def change_application(db: Db, id: UUID, raw: Json, facts: Facts, caller: Caller | None = None) -> None:
    """Change the given fields only; null removes a connector, schedule, owner, guard or review interval."""
    await _wait_for_matching(db, id, raw)
    current = await _current(db, id)
    _require_right(caller, raw, is_source=current.is_identity_source)
    facts = await with_mentioned_identities(db, facts, raw)
    body = check(ApplicationChanges, raw, facts, await _rules_across(db, raw, current))
    columns = {**_columns_of(body, raw, current.guard), "last_updated": facts.now}
    assignments = ", ".join(f"{name} = %({name})s" for name in columns)
    try:
        # A new name fires keep_former_name and match_renamed (schema/duties.sql), and recheck_requests
        # (schema/access_requests.sql). Archiving fires evaluate_archived (schema/duties.sql).
        await execute(db, f"UPDATE applications SET {assignments} WHERE id = %(id)s", id=id, **columns)
    except UniqueViolation:
        raise _taken(body.name or "") from None
    await _set_parts(db, id, body, raw)


# Fields that decide which people an identity source imports, from where and when, and which imports the guard holds.
_FEEDS = ("isIdentitySource", "connector", "schedule", "guard", "isArchived")


def _require_right(caller: Caller | None, raw: Json, *, is_source: bool) -> None:
    """Require `identities:write` to change how people are imported: a file could make its sender a supervisor."""
    feeds = is_source and any(field in raw for field in _FEEDS)
    if caller and (feeds or raw.get("isIdentitySource") is True) and Scope.IDENTITIES_WRITE not in caller.scopes:
        raise Forbidden(Scope.IDENTITIES_WRITE)


class Group(NamedTuple):
    content: str
    is_optional: bool


# Maps names to file groups.
Groups = dict[str, Group]


class Current(msgspec.Struct, frozen=True):
    """The values that a change is compared with: the current ones, or the defaults of a new application."""

    id: UUID | None = None
    is_identity_source: bool = False
    guard: Guard = Guard()
    groups: "Groups" = {}
    located: frozenset[str] = frozenset()
    has_source: bool = False
    has_carrier: bool = False
    has_push: bool = False


async def _wait_for_matching(db: Db, id: UUID, raw: Json) -> None:
    """Take the lock of matching before the application is locked, if the change fires triggers that take it.

    Imports take the two locks in this order.
    """
    rows = await fetch_rows(db, "SELECT name, is_archived FROM applications WHERE id = %(id)s", id=id)
    for name, is_archived in rows:
        if raw.get("name", name) != name or raw.get("isArchived") not in (None, is_archived):
            await execute(db, "SELECT lock_matching()")


async def _current(db: Db, id: UUID) -> Current:
    await lock_application(db, id)
    rows = await fetch_rows(
        db,
        """SELECT a.is_identity_source, a.guard,
                  (SELECT jsonb_object_agg(g.name, jsonb_build_array(g.content, g.is_optional))
                   FROM file_groups g JOIN connectors c ON c.id = g.connector_id WHERE c.application_id = a.id),
                  (SELECT s.locations FROM schedules s WHERE s.application_id = a.id),
                  EXISTS (SELECT FROM sources s WHERE s.application_id = a.id),
                  EXISTS (SELECT FROM carriers c WHERE c.application_id = a.id),
                  EXISTS (SELECT FROM scim_pushes p WHERE p.application_id = a.id)
           FROM applications a WHERE a.id = %(id)s""",
        id=id,
    )
    if not rows:
        raise NotFound("Application", id)
    is_identity_source, guard, groups, locations, *parts = rows[0]
    guard = msgspec.convert(guard, Guard) if guard else (await settings.get(db)).guard
    known = {name: Group(*group) for name, group in (groups or {}).items()}
    return Current(id, is_identity_source, guard, known, frozenset(locations or ()), *parts)


async def _rules_across(db: Db, raw: Json, current: Current) -> list[Problem]:
    """Check fields that depend on each other, as they would be after the change; return the problems."""
    problems = []
    groups = _groups_in(raw["connector"]) if "connector" in raw else current.groups
    located = _locations_in(raw["schedule"]) if "schedule" in raw else current.located
    for name in sorted(located - groups.keys()):
        if "schedule" in raw:
            problems.append(Problem(f"schedule.locations.{name}", no_such_group(name, groups)))
        else:
            problems.append(Problem("connector", f"The schedule has a location for {name}; remove the location first"))
    if located and current.has_source:
        problems.append(Problem("schedule.locations", "The records come from a live source; remove the locations"))
    # Allow a schedule without locations, which can be added later.
    if located and ("schedule" in raw or "connector" in raw):
        problems += [
            _unlocated(name, raw) for name, group in groups.items() if not group.is_optional | (name in located)
        ]
    given = raw.get("isIdentitySource")
    is_identity_source = given if isinstance(given, bool) else current.is_identity_source
    if Content.IDENTITIES in (group.content for group in groups.values()) and not is_identity_source:
        problems.append(
            Problem("isIdentitySource", "A file of identities requires an identity source; mark the application as one")
        )
    if given is True and current.has_carrier:
        problems.append(Problem("isIdentitySource", "An identity source cannot have a carrier; remove the carrier"))
    # SCIM tokens are created without `identities:write`, but the users that they push would become people.
    if given is True and current.has_push and not current.is_identity_source:
        problems.append(
            Problem(
                "isIdentitySource",
                "Users pushed by SCIM would become people; first remove the live source, which revokes its tokens, then"
                " make the application an identity source and set the live source again",
            )
        )
    name = str(raw.get("name", "")).strip()
    if await _is_taken(db, name, current.id):
        problems += _taken(name).problems
    return problems


def _unlocated(name: str, raw: Json) -> Problem:
    if "schedule" in raw:
        return Problem(f"schedule.locations.{name}", f"Required location missing: {name}")
    return Problem("connector", f"The schedule has no location for {name}; change the schedule too")


def _groups_in(connector: object) -> Groups:
    """Return the file groups by name. The validation of the body reports malformed ones."""
    files = connector.get("files") if isinstance(connector, dict) else None
    entries = [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    return {
        str(file.get("name") or "").strip(): Group(fold(str(file.get("content"))), _is_optional(file))
        for file in entries
    }


def _is_optional(file: Json) -> bool:
    """Return whether a file group is optional. A malformed file group counts as optional."""
    return not isinstance(file.get("name"), str) or file.get("isOptional") not in (None, False)


def _locations_in(schedule: object) -> frozenset[str]:
    locations = schedule.get("locations") if isinstance(schedule, dict) else None
    return frozenset(name.strip() for name in locations) if isinstance(locations, dict) else frozenset()


async def _is_taken(db: Db, name: str, but: UUID | None) -> bool:
    if "\x00" in name:
        return False
    holder = await fetch_value(db, "SELECT id FROM applications WHERE name = %(name)s", name=name)
    return holder is not None and holder != but


async def require_free_name(db: Db, name: str) -> None:
    """Raise Invalid if an application already has this name."""
    if await _is_taken(db, name, None):
        raise _taken(name)


def _taken(name: str) -> Invalid:
    return Invalid.on("name", f"An application named {name} already exists; choose another name")


def _columns_of(body: ApplicationFields, raw: Json, guard: Guard) -> dict[str, Any]:
    """Return the columns to write, with the values of the given fields."""
    simple = (
        "name", "priority", "is_identity_source", "is_archived", "owner_id", "provisioner_ids", "review_every_months",
        "surprise_reviews",
    )  # fmt: skip
    columns = {field: value for field in simple if (value := getattr(body, field, None)) is not None}
    if "name" in columns:
        columns["name_key"] = sort_key(columns["name"])
    if _is_removed(raw, "ownerId"):
        columns["owner_id"] = None
    for field, column in (("guard", "guard"), ("reviewEveryMonths", "review_every_months")):
        if _is_removed(raw, field):
            columns[column] = None
    if body.guard:
        columns["guard"] = Jsonb(
            {**msgspec.to_builtins(guard), **body.guard.model_dump(by_alias=True, exclude_none=True)}
        )
    return columns


def _is_removed(raw: Json, field: str) -> bool:
    return field in raw and raw[field] is None


async def _set_parts(db: Db, id: UUID, body: ApplicationFields, raw: Json) -> None:
    if body.connector:
        await _set_connector(db, id, body.connector)
    elif _is_removed(raw, "connector"):
        await execute(db, "DELETE FROM connectors WHERE application_id = %(id)s", id=id)
    if body.schedule:
        await _set_schedule(db, id, body.schedule)
    elif _is_removed(raw, "schedule"):
        await execute(db, "DELETE FROM schedules WHERE application_id = %(id)s", id=id)


async def _set_connector(db: Db, id: UUID, body: ConnectorBody) -> None:
    """Replace the connector; a file group that keeps its name keeps its id, so that uploads still work."""
    connector_id = await fetch_value(
        db,
        """INSERT INTO connectors (id, application_id, name, vendor, is_file_based)
           VALUES (%(new)s, %(id)s, %(name)s, %(vendor)s, %(is_file_based)s)
           ON CONFLICT (application_id) DO UPDATE
           SET name = EXCLUDED.name, vendor = EXCLUDED.vendor, is_file_based = EXCLUDED.is_file_based
           RETURNING id""",
        new=new_id(),
        id=id,
        name=body.name,
        vendor=body.vendor,
        is_file_based=body.files is not None,
    )
    files = body.files or []
    await execute(
        db,
        "DELETE FROM file_groups WHERE connector_id = %(connector)s AND name <> ALL(%(names)s)",
        connector=connector_id,
        names=[file.name for file in files],
    )
    for position, file in enumerate(files):
        shape = stored_shape(file.shape)
        columns = {
            **file.model_dump(),
            "columns": Jsonb(file.columns),
            "shape": None if shape is None else Jsonb(shape),
            "connector_id": connector_id,
            "position": position,
        }
        await execute(
            db,
            f"""INSERT INTO file_groups (id, {", ".join(columns)})
                VALUES (%(id)s, {", ".join(f"%({name})s" for name in columns)})
                ON CONFLICT (connector_id, name) DO UPDATE
                SET {", ".join(f"{name} = EXCLUDED.{name}" for name in columns)}""",
            id=new_id(),
            **columns,
        )


async def _set_schedule(db: Db, id: UUID, body: ScheduleBody) -> None:
    await execute(
        db,
        """INSERT INTO schedules (application_id, cron, locations) VALUES (%(id)s, %(cron)s, %(locations)s)
           ON CONFLICT (application_id) DO UPDATE SET cron = EXCLUDED.cron, locations = EXCLUDED.locations""",
        id=id,
        cron=body.cron,
        locations=Jsonb(body.locations),
    )
