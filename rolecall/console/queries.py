"""Read data that only the console needs: names for ids, and additional columns."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from rolecall.applications.model import FIELDS, Content
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_all, fetch_one, fetch_rows, fetch_value
from rolecall.core.paging import totals_by
from rolecall.identities.authority import visible_people
from rolecall.personnel_events.queries import NOT_OWN_OFFBOARDING
from rolecall.webhooks.model import DeliveryStatus


async def people_names(db: Db, ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await fetch_rows(
        db, "SELECT id, first_name || ' ' || last_name FROM identities WHERE id = ANY(%(ids)s)", ids=list(ids)
    )
    return dict(rows)


async def record_names(db: Db, ids: Sequence[UUID]) -> dict[str, str]:
    """Return the name or number of each record by id, so that pages need not show GUIDs.

    Omit records of types that are not queried here.
    """
    rows = await fetch_rows(
        db,
        """SELECT id::text, first_name || ' ' || last_name FROM identities WHERE id = ANY(%(ids)s)
           UNION ALL SELECT id::text, name FROM applications WHERE id = ANY(%(ids)s)
           UNION ALL SELECT id::text, name FROM access_models WHERE id = ANY(%(ids)s)
           UNION ALL SELECT id::text, name FROM webhooks WHERE id = ANY(%(ids)s)
           UNION ALL SELECT id::text, '#' || number FROM access_requests WHERE id = ANY(%(ids)s)
           UNION ALL SELECT id::text, '#' || number FROM personnel_events WHERE id = ANY(%(ids)s)
           UNION ALL SELECT id::text, name FROM reviews WHERE id = ANY(%(ids)s)
           UNION ALL SELECT id::text, '#' || number FROM review_items WHERE id = ANY(%(ids)s)
           UNION ALL SELECT id::text, '#' || number FROM application_imports WHERE id = ANY(%(ids)s)""",
        ids=list(ids),
    )
    return dict(rows)


async def import_ids(db: Db, numbers: Sequence[int]) -> dict[int, UUID]:
    rows = await fetch_rows(
        db, "SELECT number, id FROM application_imports WHERE number = ANY(%(numbers)s)", numbers=list(numbers)
    )
    return dict(rows)


class RecordChoice(msgspec.Struct, frozen=True):
    id: UUID
    name: str


async def live_applications(db: Db) -> list[RecordChoice]:
    """List the first 1000 applications that are not archived, by name, for a select field."""
    return await fetch_all(
        db,
        RecordChoice,
        "SELECT id, name FROM applications WHERE NOT is_archived ORDER BY list_key LIMIT 1000",
    )


async def application_of_account(db: Db, id: UUID) -> UUID:
    found: UUID = await fetch_value(db, "SELECT application_id FROM accounts WHERE id = %(id)s", id=id)
    return found


class KnownColumns(NamedTuple):
    """The columns that a file group reads by name. If not `is_shaped`, the first line of its files is the header."""

    headers: list[str]
    is_shaped: bool


async def known_columns(db: Db, application_id: UUID) -> dict[UUID, KnownColumns]:
    """Return for each file group the columns that it reads: mapped headers and, without a shape, names of fields."""
    rows = await fetch_rows(
        db,
        """SELECT g.id, g.content, g.columns, g.shape
           FROM file_groups g JOIN connectors c ON c.id = g.connector_id
           WHERE c.application_id = %(id)s""",
        id=application_id,
    )
    return {id: _known(Content(content), columns, shape) for id, content, columns, shape in rows}


def _known(content: Content, columns: dict[str, str], shape: dict[str, Any] | None) -> KnownColumns:
    if shape is None:
        return KnownColumns([*columns, *(field for field in FIELDS[content] if field not in columns.values())], False)
    further = [header for each in shape.get("contents") or [] for header in each["columns"]]
    return KnownColumns(list(dict.fromkeys([*columns, *further])), True)


async def why_held(db: Db, import_id: UUID) -> str | None:
    held: str | None = await fetch_value(
        db,
        """SELECT u.held FROM import_runs u JOIN application_imports i ON i.id = u.import_id
           WHERE u.import_id = %(id)s AND i.status = 'Running'""",
        id=import_id,
    )
    return held


async def held_imports(db: Db) -> set[UUID]:
    """Return the imports that the guard holds, at most one per application."""
    rows = await fetch_rows(
        db,
        """SELECT i.id FROM import_runs u JOIN application_imports i ON i.id = u.import_id
           WHERE u.held IS NOT NULL AND i.status = 'Running'""",
    )
    return {id for (id,) in rows}


async def log_after(db: Db, import_id: UUID, number: int) -> list[tuple[int, str]]:
    """Return the next lines of a log with their numbers, at most 10,000."""
    rows = await fetch_rows(
        db,
        """SELECT number, line FROM import_log WHERE import_id = %(id)s AND number > %(number)s
           ORDER BY number LIMIT 10000""",
        id=import_id,
        number=number,
    )
    return [(number, line) for number, line in rows]


class ShownFile(msgspec.Struct, frozen=True):
    id: UUID
    file_group: str
    name: str
    sha256: str
    size: int


async def files_of(db: Db, import_id: UUID) -> list[ShownFile]:
    return await fetch_all(
        db,
        ShownFile,
        """SELECT id, file_group, name, encode(sha256, 'hex') AS sha256, size FROM import_files
           WHERE import_id = %(id)s ORDER BY position""",
        id=import_id,
    )


class ApplicationFacts(msgspec.Struct, frozen=True):
    """Data of an application page that the API detail lacks; `guard` is None if the general settings apply."""

    is_identity_source: bool
    owner_id: UUID | None
    provisioner_ids: list[UUID]
    guard: dict[str, float] | None
    review_every_months: int | None
    surprise_reviews: bool
    cron: str | None
    locations: dict[str, str] | None
    accounts: int
    groups: int
    permissions: int
    unmatched: int
    has_source: bool


async def application_facts(db: Db, id: UUID) -> ApplicationFacts:
    found = await fetch_one(
        db,
        ApplicationFacts,
        """SELECT a.is_identity_source, a.owner_id, a.provisioner_ids, a.guard, a.review_every_months,
                  a.surprise_reviews, s.cron, s.locations,
                  coalesce(t.accounts, 0) AS accounts, coalesce(t.groups, 0) AS groups,
                  coalesce(t.permissions, 0) AS permissions,
                  (SELECT count(*) FROM accounts c WHERE c.application_id = a.id
                   AND c.match IN ('Unmatched', 'Disputed')
                   AND EXISTS (SELECT FROM account_versions v
                               WHERE v.account_number = c.number AND v.until_import IS NULL)) AS unmatched,
                  EXISTS (SELECT FROM sources l WHERE l.application_id = a.id) AS has_source
           FROM applications a
           LEFT JOIN schedules s ON s.application_id = a.id LEFT JOIN application_totals t ON t.application_id = a.id
           WHERE a.id = %(id)s""",
        id=id,
    )
    assert found
    return found


class ListedApplication(msgspec.Struct, frozen=True):
    """Columns of the application list that the API item lacks."""

    connector: str | None
    import_id: UUID | None
    import_number: int | None
    import_status: str | None
    # The last finished import; the data of the application is from this import.
    finished_id: UUID | None
    finished_number: int | None
    finished_at: datetime | None
    accounts: int
    permissions: int


async def beside_applications(db: Db, ids: Sequence[UUID]) -> dict[UUID, ListedApplication]:
    rows = await fetch_rows(
        db,
        """SELECT a.id, c.name, r.id, r.number, r.status, f.id, f.number, f.build_end, coalesce(t.accounts, 0),
                  coalesce(t.permissions, 0)
           FROM applications a LEFT JOIN connectors c ON c.application_id = a.id
           LEFT JOIN application_totals t ON t.application_id = a.id
           LEFT JOIN LATERAL (SELECT id, number, status FROM application_imports
                              WHERE application_id = a.id ORDER BY number DESC LIMIT 1) AS r ON true
           LEFT JOIN LATERAL (SELECT id, number, build_end FROM application_imports
                              WHERE application_id = a.id AND status = 'Finished'
                              ORDER BY number DESC LIMIT 1) AS f ON true
           WHERE a.id = ANY(%(ids)s)""",
        ids=list(ids),
    )
    return {id: ListedApplication(*rest) for id, *rest in rows}


class EventOfDay(msgspec.Struct, frozen=True):
    id: UUID
    number: int
    type: str
    status: str
    identity_id: UUID
    name: str
    needed_on: datetime


async def events_between(db: Db, first: datetime, end: datetime, caller: Caller) -> list[EventOfDay]:
    """List the first 1000 events that take effect between two times and that the caller may see."""
    within = await visible_people(db, caller)
    limited = "" if within is None else f"AND e.identity_id = ANY(%(within)s) AND {NOT_OWN_OFFBOARDING}"
    # The key begins with the effective date, so the index finds these events.
    return await fetch_all(
        db,
        EventOfDay,
        f"""SELECT e.id, e.number, e.type, e.status, i.id AS identity_id, i.first_name || ' ' || i.last_name AS name,
                  e.needed_on
           FROM personnel_events e JOIN identities i ON i.id = e.identity_id
           WHERE e.list_key >= time_key(%(first)s, 0) AND e.list_key < time_key(%(end)s, 0) {limited}
           ORDER BY e.list_key LIMIT 1000""",
        first=first,
        end=end,
        **({} if within is None else {"within": list(within), "me": caller.id}),
    )


async def hook_names(db: Db, ids: Sequence[UUID]) -> dict[UUID, str]:
    return dict(await fetch_rows(db, "SELECT id, name FROM webhooks WHERE id = ANY(%(ids)s)", ids=list(ids)))


class HookNumbers(msgspec.Struct, frozen=True):
    delivered: int
    failed: int
    waiting: int
    last_problem: str | None


async def hook_numbers(db: Db, ids: Sequence[UUID]) -> dict[UUID, HookNumbers]:
    """Return the number of deliveries of each webhook by status, and its last problem (`_last_problems`)."""
    hooks, status = [str(id) for id in ids], DeliveryStatus
    # Add up stored totals: counting the deliveries would read all of them.
    totals = {each: await totals_by(db, "webhook_deliveries", "webhook_id", hooks, status=each) for each in status}
    problems = await _last_problems(db, ids)
    return {
        id: HookNumbers(
            delivered=totals[status.DELIVERED][hook],
            failed=totals[status.FAILED][hook],
            waiting=totals[status.PENDING][hook] + totals[status.PARKED][hook],
            last_problem=problems.get(id),
        )
        for id, hook in zip(ids, hooks, strict=True)
    }


async def _last_problems(db: Db, ids: Sequence[UUID]) -> dict[UUID, str]:
    """Return the last failed attempt of each webhook's newest delivery that was tried but has not arrived."""
    return dict(
        await fetch_rows(
            db,
            """SELECT DISTINCT ON (hook) hook, concat_ws(' ', t.outcome, t.status_code)
               FROM unnest(%(ids)s::uuid[]) AS hook CROSS JOIN unnest(%(statuses)s::text[]) AS standing
               CROSS JOIN LATERAL (
                   SELECT id, list_key FROM webhook_deliveries
                   WHERE webhook_id = hook AND status = standing AND NOT untried ORDER BY list_key DESC LIMIT 1) AS d
               JOIN webhook_attempts t ON t.delivery_id = d.id AND t.outcome <> 'delivered'
               ORDER BY hook, d.list_key DESC, t.number DESC""",
            ids=list(ids),
            statuses=[status for status in DeliveryStatus if status != DeliveryStatus.DELIVERED],
        )
    )
