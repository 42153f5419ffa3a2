"""Query what the home page shows to a person without a role: their team, applications and requests."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests import requests_of_person
from rolecall.access_requests.shapes import AccessRequestItem
from rolecall.console.home_details import open_conflicts
from rolecall.console.model import Person
from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.core.paging import Page
from rolecall.effective_access.queries import access_of
from rolecall.identities import queries as identities
from rolecall.identities.authority import MOST_PEOPLE, people_of
from rolecall.identities.model import IdentityStatus
from rolecall.identities.shapes import IdentityDetail
from rolecall.work_items.model import WorkStatus

# The home page counts the access of at most this many people; the list of people shows the rest.
MOST_COUNTED = 10
OVER = (WorkStatus.COMPLETED, WorkStatus.CANCELED)


class Member(msgspec.Struct, frozen=True):
    """A person of a team: what they hold, how much of it has no reason on record, and their next event."""

    person: IdentityDetail
    access: int
    unexplained: int
    open_requests: int
    conflicts: int
    next_event: str | None
    next_on: datetime | None


class Team(msgspec.Struct, frozen=True):
    """The people nearest to a supervisor; `count` is everyone below, up to a limit."""

    members: list[Member]
    count: int
    is_counted: bool


async def team_of(db: Db, person: Person, now: datetime) -> Team:
    ids = await people_of(db, person.id)
    found = await identities.by_id(db, ids)
    active = [found[id] for id in ids if found[id].status == IdentityStatus.ACTIVE]
    open_requests, next_events = await _open_requests(db, ids), await _next_events(db, ids, now)
    conflicts = await open_conflicts(db, ids)
    # Show people with an upcoming event, a conflict or an open request first.
    active.sort(key=lambda one: (one.id not in next_events, one.id not in conflicts, one.id not in open_requests))
    members = [await _member(db, one, open_requests, conflicts, next_events) for one in active[:MOST_COUNTED]]
    return Team(members, len(active), len(ids) < MOST_PEOPLE)


async def _member(
    db: Db,
    one: IdentityDetail,
    open_requests: dict[UUID, int],
    conflicts: dict[UUID, int],
    next_events: dict[UUID, tuple[str, datetime]],
) -> Member:
    access = await access_of(db, one.id, None)
    held = [entry for there in access.applications for account in there.accounts for entry in account.access]
    unexplained = [entry for entry in held if not entry.why.access_models and not entry.why.access_requests]
    event = next_events.get(one.id)
    counts = len(held), len(unexplained), open_requests.get(one.id, 0), conflicts.get(one.id, 0)
    return Member(one, *counts, *(event or (None, None)))


async def _open_requests(db: Db, ids: Sequence[UUID]) -> dict[UUID, int]:
    rows = await fetch_rows(
        db,
        """SELECT identity_id, count(*) FROM access_requests
           WHERE identity_id = ANY(%(ids)s) AND NOT status = ANY(%(over)s) GROUP BY identity_id""",
        ids=list(ids),
        over=list(OVER),
    )
    return dict(rows)


async def _next_events(db: Db, ids: Sequence[UUID], now: datetime) -> dict[UUID, tuple[str, datetime]]:
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT ON (identity_id) identity_id, type, needed_on FROM personnel_events
           WHERE identity_id = ANY(%(ids)s) AND needed_on >= %(now)s AND NOT status = ANY(%(over)s)
           ORDER BY identity_id, needed_on""",
        ids=list(ids),
        now=now,
        over=list(OVER),
    )
    return {id: (type, needed_on) for id, type, needed_on in rows}


async def requests_of(db: Db, person: Person) -> Page[AccessRequestItem]:
    """Return the newest requests about the person."""
    return await requests_of_person.concerning(db, 1, person.caller(), identity_id=person.id)


class OwnApplication(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    relation: str
    accounts: int
    unmatched: int
    import_id: UUID | None
    import_number: int | None
    import_status: str | None
    import_end: datetime | None


async def applications_of(db: Db, person: Person) -> list[OwnApplication]:
    """Return the applications that the person owns or provisions, with their last import."""
    return await fetch_all(
        db,
        OwnApplication,
        """SELECT a.id, a.name, CASE WHEN a.owner_id = %(me)s THEN 'You own it' ELSE 'You provision it' END AS relation,
                  coalesce(t.accounts, 0) AS accounts,
                  (SELECT count(*) FROM accounts c WHERE c.application_id = a.id
                   AND c.match IN ('Unmatched', 'Disputed')
                   AND EXISTS (SELECT FROM account_versions v
                               WHERE v.account_number = c.number AND v.until_import IS NULL)) AS unmatched,
                  r.id AS import_id, r.number AS import_number, r.status AS import_status, r.build_end AS import_end
           FROM applications a LEFT JOIN application_totals t ON t.application_id = a.id
           LEFT JOIN LATERAL (SELECT id, number, status, build_end FROM application_imports
                              WHERE application_id = a.id ORDER BY number DESC LIMIT 1) AS r ON true
           WHERE (a.owner_id = %(me)s OR %(me)s = ANY(a.provisioner_ids)) AND NOT a.is_archived
           ORDER BY a.list_key LIMIT 5""",
        me=person.id,
    )
