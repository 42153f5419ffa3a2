"""Read the facts from which the steps of a request are planned."""

from uuid import UUID

from rolecall.access_requests.enrichment import held_privileges
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.accounts.model import GROUP_HEADER
from rolecall.carriers.naming import STORED
from rolecall.carriers.planning import KnownAccount, RequestFacts
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.settings.policy import RequestAction


async def request_facts(db: Db, request: AccessRequestDetail) -> RequestFacts:
    """Return the facts that planning needs about the person, the account and the groups of a request."""
    identity = request.target.affected_identity
    return RequestFacts(
        await _person(db, identity.id, request.target.name) if identity else {},
        await _account(db, request),
        await fetch_value(db, "SELECT is_whole FROM access_requests WHERE id = %(id)s", id=request.id),
        await _group_headers(db, request),
    )


async def _person(db: Db, id: UUID, target_name: str) -> dict[str, str]:
    (row,) = await fetch_rows(
        db,
        """SELECT id::text, first_name, last_name, email_address, coalesce(employee_id, ''), type, title, company,
                  division, department, office FROM identities WHERE id = %(id)s""",
        id=id,
    )
    return {**dict(zip(STORED, row, strict=True)), "username": target_name}


async def _account(db: Db, request: AccessRequestDetail) -> KnownAccount | None:
    """Return the account that the request names. If there is none, an Add uses another account of the person."""
    identity = request.target.affected_identity
    rows = await fetch_rows(
        db,
        """SELECT a.id, a.username, v.is_active AND NOT v.is_locked, a.identity_id IS NOT DISTINCT FROM %(identity)s
           FROM accounts a JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
           WHERE a.application_id = %(application)s
             AND (a.username = %(name)s OR %(by_person)s AND a.identity_id = %(identity)s)
           ORDER BY a.username <> %(name)s, v.is_active DESC, a.username LIMIT 1""",
        application=request.target.application.id,
        name=request.target.name,
        identity=identity.id if identity else None,
        by_person=request.action == RequestAction.ADD,
    )
    if not rows:
        return None
    id, username, is_active, is_of_person = rows[0]
    held = (await held_privileges(db, [id])).get(id, [])
    holds = frozenset((each.header, each.section, each.permission) for each in held)
    # Without an identity, the SQL would count an unmatched account as the person's, because both identities are null.
    return KnownAccount(username, is_active, is_of_person and identity is not None, holds)


async def _group_headers(db: Db, request: AccessRequestDetail) -> dict[str, frozenset[str]]:
    """Map each known group of the request to the headers that denote a membership in it."""
    rows = await fetch_rows(
        db,
        """SELECT g.name, array_agg(DISTINCT group_header(v.nomenclature))
           FROM groups g JOIN group_versions v ON v.group_number = g.number AND v.until_import IS NULL
           WHERE g.application_id = %(application)s AND g.name = ANY(%(names)s) GROUP BY 1""",
        application=request.target.application.id,
        names=[each.permission.permission for each in request.target.privileges],
    )
    return {name: frozenset({*headers, GROUP_HEADER}) for name, headers in rows}
