"""List the requests that concern a person: about them, their people or applications, or pending their response.

A page shows the newest requests up to a limit, found through the index of each relation, so that its cost does not grow
with the number of requests. An application or a person as filter leads to the exact list; exports have no limit.
"""

from typing import Any
from uuid import UUID

from rolecall.access_requests import queries
from rolecall.access_requests.permitted import NOT_OWN_OFFBOARDING
from rolecall.access_requests.shapes import AccessRequestItem
from rolecall.applications import permitted as applications
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.paging import EVERYTHING, PAGE_SIZE, Page, whole
from rolecall.identities.authority import LINE, MOST_PEOPLE

MOST_LISTED = 1000
_SOURCES = (
    """people p CROSS JOIN LATERAL (
           SELECT r.id, r.list_key FROM access_requests r
           WHERE r.identity_id = p.id AND {hidden}{conditions}{newest})""",
    """(SELECT %(me)s::uuid AS id) m CROSS JOIN LATERAL (
           SELECT r.id, r.list_key FROM access_requests r WHERE r.reporter_id = m.id{conditions}{newest})""",
    """applications a CROSS JOIN LATERAL (
           SELECT r.id, r.list_key FROM access_requests r
           WHERE r.application_id = a.id AND {hidden}{conditions}{newest})""",
    """(SELECT DISTINCT request_id FROM responses
        WHERE reviewer_id = ANY(%(answers_as)s) AND response = 'Pending' AND asked) q CROSS JOIN LATERAL (
           SELECT r.id, r.list_key FROM access_requests r
           WHERE r.id = q.request_id AND r.status = ANY(awaited_statuses()) AND {hidden}{conditions})""",
)
_OWN_APPLICATION = "WHERE a.owner_id = %(me)s OR %(me)s = ANY(a.provisioner_ids)"


def _found(filters: dict[str, Any], *, is_limited: bool) -> str:
    """Return a WITH clause `found` with the id and key of each request."""
    words = {
        "hidden": NOT_OWN_OFFBOARDING,
        "conditions": "".join(f" AND r.{column} = %({column})s" for column in filters),
        "newest": f" ORDER BY r.list_key DESC LIMIT {MOST_LISTED}" if is_limited else "",
    }
    parts = [f"SELECT x.id, x.list_key FROM {source.format(**words)} x" for source in _SOURCES]
    parts[2] += f" {_OWN_APPLICATION}"
    near = f" LIMIT {MOST_PEOPLE}" if is_limited else ""
    return f"""WITH RECURSIVE {LINE}, people AS MATERIALIZED (
            SELECT %(me)s::uuid AS id UNION (SELECT id FROM line{near})
        ), found AS MATERIALIZED (
            {" UNION ".join(parts)} ORDER BY list_key DESC{f" LIMIT {MOST_LISTED}" if is_limited else ""})"""


async def _hides_some(db: Db, me: UUID, application_id: UUID | None) -> bool:
    """Tell whether requests of the application are part of the person's own offboarding."""
    return bool(
        await fetch_value(
            db,
            f"""SELECT EXISTS (SELECT FROM access_requests r WHERE r.identity_id = %(me)s
                               AND r.application_id = %(application)s AND NOT {NOT_OWN_OFFBOARDING})""",
            me=me,
            application=application_id,
        )
    )


async def concerning(
    db: Db, page: int, me: UUID, answers_as: tuple[UUID, ...], **filters: Any
) -> Page[AccessRequestItem]:
    """List the requests that concern a person, newest first; `filters` are by column, and None means no filter."""
    given = {column: value for column, value in filters.items() if value is not None}
    application = given.get("application_id")
    if application in await applications.applications_of(db, me) and not await _hides_some(db, me, application):
        return await queries.newest_first(db, page, **given)
    values = {**given, "me": me, "answers_as": list(answers_as)}
    if page == EVERYTHING:
        statement = f"""{_found(given, is_limited=False)}
            SELECT {queries.LISTED} JOIN found f ON f.id = r.id ORDER BY r.list_key DESC"""
        return whole(queries.item_from_row, statement, **values)
    rows = await fetch_rows(
        db,
        f"""{_found(given, is_limited=True)}
            SELECT (SELECT count(*) FROM found), f.id FROM found f ORDER BY f.list_key DESC
            LIMIT {PAGE_SIZE} OFFSET %(offset)s""",
        offset=min((page - 1) * PAGE_SIZE, MOST_LISTED),
        **values,
    )
    total = rows[0][0] if rows else 0
    items = await queries.items(db, [id for _, id in rows])
    return Page(items, total, page, PAGE_SIZE, -(-total // PAGE_SIZE))
