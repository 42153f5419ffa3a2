"""Query the home page of a person who sees only their own records: team, applications and requests."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.access_requests import requests_of_person
from rolecall.access_requests.permitted import NOT_OWN_OFFBOARDING
from rolecall.access_requests.shapes import AccessRequestItem
from rolecall.console.home_details import open_conflicts
from rolecall.console.model import Person
from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value
from rolecall.core.paging import Page
from rolecall.effective_access.queries import AccessCounts, access_counts
from rolecall.identities import queries as identities
from rolecall.identities.authority import MOST_PEOPLE, people_of
from rolecall.identities.model import IdentityStatus
from rolecall.identities.shapes import IdentityDetail
from rolecall.settings.policy import EventType
from rolecall.work_items.model import WorkStatus

# The maximum number of people on the home page. People with notes, such as a conflict, come first.
_MOST_NAMED = 10
# The maximum number of people whose access is counted; counting 200 takes about 0.3 s.
MOST_COUNTED = 200
_UNUSED_AFTER = timedelta(days=90)
OVER = (WorkStatus.COMPLETED, WorkStatus.CANCELED)


class NextEvent(msgspec.Struct, frozen=True):
    id: UUID
    type: str
    on: datetime


class Member(msgspec.Struct, frozen=True):
    """A member of a team, with counts about their access and work, and their next event."""

    person: IdentityDetail
    access: AccessCounts
    unused: int
    open_requests: int
    conflicts: int
    next_event: NextEvent | None

    @property
    def notes(self) -> tuple[bool, ...]:
        """Return a sort key: for each kind of note, the most important first, whether the person has it."""
        found = (self.next_event, self.conflicts, self.open_requests, self.access.unexplained, self.unused)
        return tuple(bool(each) for each in found)


class Team(msgspec.Struct, frozen=True):
    """The active people who report to a supervisor. `count` is their number, or a lower bound if not `is_counted`.

    `members` are the people to show; people with notes come first.
    """

    members: list[Member]
    count: int
    joining: int
    # The number of people who are not in `members`, and how many of them have a note.
    others: int
    noted_others: int
    is_counted: bool

    @property
    def most_counted(self) -> int | None:
        """Return the number of people whose access was counted, or None if everyone's access was counted."""
        return MOST_COUNTED if self.count > MOST_COUNTED else None


async def team_of(db: Db, person: Person, now: datetime) -> Team:
    """Return the team of a person; count the access of at most MOST_COUNTED people."""
    ids = await people_of(db, person.id)
    found = await identities.by_id(db, ids)
    active = [found[id] for id in ids if found[id].status == IdentityStatus.ACTIVE]
    open_requests, next_events = await _open_requests(db, ids), await _next_events(db, ids, now)
    conflicts, unused = await open_conflicts(db, ids), await _unused_accounts(db, ids, now)
    # Access is counted only for the first people, so begin with those who have events, conflicts, requests or unused
    # accounts.
    noted_by = (next_events, conflicts, open_requests, unused)
    active.sort(key=lambda one: [one.id not in notes for notes in noted_by])
    access = await access_counts(db, [one.id for one in active[:MOST_COUNTED]])
    members = [
        Member(
            one,
            access.get(one.id, AccessCounts(0, 0)),
            unused.get(one.id, 0),
            open_requests.get(one.id, 0),
            conflicts.get(one.id, 0),
            next_events.get(one.id),
        )
        for one in active
    ]
    members.sort(key=lambda one: one.notes, reverse=True)
    named, others = members[:_MOST_NAMED], members[_MOST_NAMED:]
    joining = sum(one.next_event is not None and one.next_event.type == EventType.ONBOARD for one in members)
    noted = sum(any(one.notes) for one in others)
    return Team(named, len(active), joining, len(others), noted, len(ids) < MOST_PEOPLE)


async def _unused_accounts(db: Db, ids: Sequence[UUID], now: datetime) -> dict[UUID, int]:
    """Count for each person the active accounts whose last login was more than 90 days ago."""
    rows = await fetch_rows(
        db,
        """SELECT a.identity_id, count(*) FROM accounts a
           JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
           JOIN applications p ON p.id = a.application_id AND NOT p.is_archived
           WHERE a.identity_id = ANY(%(ids)s) AND v.is_active AND v.last_login <> '' AND v.last_login < %(oldest)s
           GROUP BY a.identity_id""",
        ids=list(ids),
        # Last logins that the import could parse are stored as text in ISO 8601, which sorts by time.
        oldest=f"{now - _UNUSED_AFTER:%Y-%m-%dT%H:%M:%SZ}",
    )
    return dict(rows)


async def _open_requests(db: Db, ids: Sequence[UUID]) -> dict[UUID, int]:
    rows = await fetch_rows(
        db,
        """SELECT identity_id, count(*) FROM access_requests
           WHERE identity_id = ANY(%(ids)s) AND NOT status = ANY(%(over)s) GROUP BY identity_id""",
        ids=list(ids),
        over=list(OVER),
    )
    return dict(rows)


async def _next_events(db: Db, ids: Sequence[UUID], now: datetime) -> dict[UUID, NextEvent]:
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT ON (identity_id) identity_id, id, type, needed_on FROM personnel_events
           WHERE identity_id = ANY(%(ids)s) AND needed_on >= %(now)s AND NOT status = ANY(%(over)s)
           ORDER BY identity_id, needed_on""",
        ids=list(ids),
        now=now,
        over=list(OVER),
    )
    return {person: NextEvent(*event) for person, *event in rows}


async def open_requests_of(db: Db, person: Person) -> int:
    """Count the open requests about the person, except requests of their own planned offboarding."""
    sql = f"""SELECT count(*) FROM access_requests r
              WHERE r.identity_id = %(me)s AND NOT r.status = ANY(%(over)s) AND {NOT_OWN_OFFBOARDING}"""
    return int(await fetch_value(db, sql, me=person.id, over=list(OVER)))


async def people_source(db: Db) -> str:
    """Return the name of the identity source; empty if there is none, or more than one."""
    rows = await fetch_rows(db, "SELECT name FROM applications WHERE is_identity_source AND NOT is_archived LIMIT 2")
    return str(rows[0][0]) if len(rows) == 1 else ""


async def requests_of(db: Db, person: Person) -> Page[AccessRequestItem]:
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
    """Return the first 5 applications that the person owns or provisions, with their last imports."""
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
           LEFT JOIN LATERAL (SELECT i.id, i.number, i.build_end,
                                     CASE WHEN u.held IS NOT NULL AND i.status = 'Running' THEN 'Held'
                                          ELSE i.status END AS status
                              FROM application_imports i LEFT JOIN import_runs u ON u.import_id = i.id
                              WHERE i.application_id = a.id ORDER BY i.number DESC LIMIT 1) AS r ON true
           WHERE (a.owner_id = %(me)s OR %(me)s = ANY(a.provisioner_ids)) AND NOT a.is_archived
           ORDER BY a.list_key LIMIT 5""",
        me=person.id,
    )
