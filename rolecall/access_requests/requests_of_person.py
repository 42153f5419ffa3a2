"""List the requests that concern a person.

These are requests about the person, the people who report to them, or their applications, and requests that they made,
that are assigned to them, or that wait for their response. The list contains the newest requests up to a limit; exports
have no limit. Each relation is read through its index, so the cost does not grow with the number of requests. Whole
rows are read only for the requested page.
"""

from typing import Any
from uuid import UUID

from rolecall.access_requests import queries
from rolecall.access_requests.permitted import NOT_OWN_OFFBOARDING
from rolecall.access_requests.shapes import AccessRequestDetail, AccessRequestItem
from rolecall.applications import permitted as applications
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.paging import EVERYTHING, PAGE_SIZE, Page, whole
from rolecall.entitlements.shapes import EntitlementItem
from rolecall.identities.authority import LINE, MOST_PEOPLE
from rolecall.settings.policy import RequirementType

MOST_LISTED = 1000
_SOURCES = (
    """people p CROSS JOIN LATERAL (
           SELECT r.list_key FROM access_requests r WHERE r.identity_id = p.id{conditions}{newest})""",
    """(SELECT %(me)s::uuid AS id UNION ALL SELECT t.id FROM tokens t WHERE t.owner_id = %(me)s) m CROSS JOIN LATERAL (
           SELECT r.list_key FROM access_requests r WHERE r.reporter_id = m.id{conditions}{newest})""",
    """(SELECT %(me)s::uuid AS id) m CROSS JOIN LATERAL (
           SELECT r.list_key FROM access_requests r WHERE r.assignee_id = m.id{conditions}{newest})""",
    """(SELECT a.id FROM applications a WHERE a.owner_id = %(me)s OR %(me)s = ANY(a.provisioner_ids)) a
       CROSS JOIN LATERAL (
           SELECT r.list_key FROM access_requests r WHERE r.application_id = a.id{conditions}{newest})""",
    """(SELECT DISTINCT request_id FROM responses
        WHERE (reviewer_id, type) IN (SELECT * FROM unnest(%(reviewers)s::uuid[], %(types)s::text[]))
          AND response = 'Pending' AND asked) q CROSS JOIN LATERAL (
           SELECT r.list_key FROM access_requests r
           WHERE r.id = q.request_id AND r.status = ANY(awaited_statuses()){conditions})""",
)


def _found(filters: dict[str, Any], *, is_limited: bool) -> str:
    """Return a WITH clause that defines `found`: the list keys of the requests that concern the person.

    With `is_limited`, include only the newest requests, and only the nearest people in the person's reporting line.
    """
    words = {
        "conditions": "".join(f" AND r.{column} = %({column})s" for column in filters),
        "newest": f" ORDER BY r.list_key DESC LIMIT {MOST_LISTED}" if is_limited else "",
    }
    parts = [f"SELECT x.list_key FROM {source.format(**words)} x" for source in _SOURCES]
    near = f" LIMIT {MOST_PEOPLE}" if is_limited else ""
    return f"""WITH RECURSIVE {LINE}, people AS MATERIALIZED (
            SELECT %(me)s::uuid AS id UNION ALL (SELECT id FROM line{near})
        ), hidden AS MATERIALIZED (
            SELECT r.list_key FROM access_requests r WHERE r.identity_id = %(me)s AND NOT {NOT_OWN_OFFBOARDING}
        ), found AS MATERIALIZED (
            SELECT list_key FROM ({" UNION ".join(parts)}) AS each
            WHERE list_key NOT IN (SELECT list_key FROM hidden)
            ORDER BY list_key DESC{f" LIMIT {MOST_LISTED}" if is_limited else ""})"""


async def _hides_some(db: Db, me: UUID, application_id: UUID | None) -> bool:
    """Return whether the application has requests that others made for the person's offboarding, which are hidden."""
    return bool(
        await fetch_value(
            db,
            f"""SELECT EXISTS (SELECT FROM access_requests r WHERE r.identity_id = %(me)s
                               AND r.application_id = %(application)s AND NOT {NOT_OWN_OFFBOARDING})""",
            me=me,
            application=application_id,
        )
    )


def _reviewers(caller: Caller) -> dict[str, list[Any]]:
    """Return query parameters: the reviewers for whom the caller responds, each with a type of response.

    These reviewers are the caller, and the people for whom the caller stands in.
    """
    pairs = [(caller.id, str(type)) for type in RequirementType] + sorted(caller.stands_in_for)
    return {"reviewers": [id for id, _ in pairs], "types": [type for _, type in pairs]}


async def concerning(db: Db, page: int, caller: Caller, **filters: Any) -> Page[AccessRequestItem]:
    """List the requests that concern a person, newest first. `filters` are values of columns; None means no filter."""
    given = {column: value for column, value in filters.items() if value is not None}
    me, application = caller.id, given.get("application_id")
    # The owner and the provisioners of an application see all its requests except those that others made for their
    # offboarding. If there are no such requests, use the stored list, which is faster.
    owns = application is not None and application in await applications.applications_of(db, me)
    if owns and not await _hides_some(db, me, application):
        return await queries.newest_first(db, page, **given)
    values = {**given, "me": me, **_reviewers(caller)}
    if page == EVERYTHING:
        statement = f"""{_found(given, is_limited=False)}
            SELECT {queries.LISTED} JOIN found f ON f.list_key = r.list_key ORDER BY r.list_key DESC"""
        return whole(queries.item_from_row, statement, **values)
    [(total, ids)] = await fetch_rows(
        db,
        f"""{_found(given, is_limited=True)}
            SELECT (SELECT count(*) FROM found), array(
                SELECT r.id
                FROM (SELECT list_key FROM found ORDER BY list_key DESC LIMIT {PAGE_SIZE} OFFSET %(offset)s) AS f
                JOIN access_requests r USING (list_key))""",
        # Clamp the offset, because the product could exceed bigint. No page begins beyond the limit.
        offset=min((page - 1) * PAGE_SIZE, MOST_LISTED),
        **values,
    )
    return Page(await queries.items(db, ids), total, page, PAGE_SIZE, -(-total // PAGE_SIZE))


_MOST_ABOUT = 20


async def about(db: Db, entitlement: EntitlementItem, caller: Caller) -> list[AccessRequestDetail]:
    """Return the newest requests about an entitlement, up to a limit.

    Leave out requests that others made for the caller's offboarding, if the caller sees only their own records
    (`is_limited`).
    """
    rows = await fetch_rows(
        db,
        f"""SELECT r.id FROM access_requests r JOIN privileges p ON p.request_id = r.id
            WHERE r.application_id = %(application)s AND p.header = %(header)s AND p.section = %(section)s
              AND p.permission = %(name)s AND {NOT_OWN_OFFBOARDING} ORDER BY r.list_key DESC LIMIT {_MOST_ABOUT}""",
        application=entitlement.application.id,
        header=entitlement.header,
        section=entitlement.section,
        name=entitlement.name,
        # If the caller sees every record, pass the id of `SYSTEM`: no request is about it, so none is hidden.
        me=caller.id if caller.is_limited else SYSTEM.id,
    )
    return await queries.details(db, [id for (id,) in rows])
