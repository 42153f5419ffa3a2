"""Query everyone's access and its changes. The database computes and sorts all rows, so they can be streamed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rolecall.accounts.model import Access
from rolecall.accounts.moments import moment_of
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.paging import Page, whole
from rolecall.effective_access.queries import FOREVER, GRANTING_MODELS, GRANTING_REQUESTS
from rolecall.effective_access.shapes import HolderAccount, HolderIdentity, ImportReason
from rolecall.identities.model import IdentityStatus
from rolecall.reports.shapes import AccessChange, AccessRow, HeldEntitlement
from rolecall.web.periods import end_of, start_of

# Each column of the entitlement `e` and the application `a` that a row shows or is sorted by.
_ENTITLEMENT = "e.id, e.kind, e.header, e.section, e.name, e.display_name, e.risk_rating, e.is_privileged"
_GROUPED = f"{_ENTITLEMENT}, e.name_key, e.application_id, a.name, a.list_key, h.account, h.path, h.access"
_AS_HELD = _GROUPED.replace("a.name", "a.name AS application").replace("a.list_key", "a.list_key AS application_key")
_IDENTITY = "i.id, i.first_name || ' ' || i.last_name, i.title, i.department, i.status"
_ACCOUNT = "x.id, x.username, coalesce(v.is_active, false), coalesce(v.is_locked, false)"
_HELD = "h.id, h.kind, h.header, h.section, h.name, h.display_name, h.risk_rating, h.is_privileged"
_PATH = "array_to_string(group_names(h.path), ' > ')"
# The version `v` of an account `x` that an import showed.
_VERSION = """LEFT JOIN LATERAL (SELECT v.is_active, v.is_locked FROM account_versions v
    WHERE v.account_number = x.number AND v.from_import <= {number} ORDER BY v.from_import DESC LIMIT 1) AS v ON true"""
_FILTERS = {
    "applicationId": "e.application_id = %(applicationId)s",
    "kind": "e.kind = %(kind)s",
    "riskRating": "e.risk_rating = %(riskRating)s",
    "privileged": "e.is_privileged = %(privileged)s",
}
_FILTERS_OF_PEOPLE = {
    "identityId": "i.id = %(identityId)s",
    "explained": "(coalesce(any_account.said, own_account.said, models.said) IS NOT NULL) = %(explained)s",
}
# A request names access by the group that the account is a direct member of; so does a model, without a header.
_ASKED = """= (i.id, h.application_id, CASE WHEN h.path = '{}' THEN h.header ELSE g.header END,
           CASE WHEN h.path = '{}' THEN h.section ELSE '' END, CASE WHEN h.path = '{}' THEN h.name ELSE g.name END)"""
_GIVEN = """= (i.id, h.application_id, h.is_group, CASE WHEN h.is_group THEN '' ELSE h.header END,
           CASE WHEN h.is_group THEN '' ELSE h.section END, CASE WHEN h.path = '{}' THEN h.name ELSE g.name END)"""
_WHO_APPROVED = "(SELECT string_agg(p ->> 'name', ', ') FROM json_array_elements(g.approved_by) AS p)"

_ACCESS = f"""
    WITH last AS MATERIALIZED (
        SELECT r.application_id, max(r.number)::int AS number FROM application_imports r
        WHERE r.status = 'Finished' AND r.build_end <= %(moment)s GROUP BY 1
    ), requests AS MATERIALIZED (
        SELECT g.identity_id, g.application_id, g.header, g.section, g.permission, g.account, string_agg(
                   concat('#', g.number, ' ', g.action, ' approved by ' || {_WHO_APPROVED}), '; ' ORDER BY g.number
               ) AS said
        FROM ({GRANTING_REQUESTS.format(people="r.identity_id IS NOT NULL")}) AS g GROUP BY 1, 2, 3, 4, 5, 6
    ), models AS MATERIALIZED (
        SELECT g.identity_id, g.application_id, g.is_group, g.header, g.section, g.permission,
               string_agg(DISTINCT g.name, '; ') AS said
        FROM ({GRANTING_MODELS.format(people="true")}) AS g GROUP BY 1, 2, 3, 4, 5, 6
    ), held AS (
        SELECT {_AS_HELD}, last.number AS last, min(lower(h.during)) AS since,
               e.kind = 'Group' OR h.path <> '{{}}' AS is_group
        FROM entitlements e JOIN last ON last.application_id = e.application_id
        JOIN applications a ON a.id = e.application_id
        CROSS JOIN LATERAL holdings_of(e.id, last.number) AS h
        -- A renamed entitlement includes its former self, which is listed itself.
        WHERE h.id = e.id {{conditions}} GROUP BY {_GROUPED}, last.number
    )
    SELECT h.application, {_IDENTITY}, {_ACCOUNT}, {_HELD}, h.access, r.number, r.build_end, {_PATH},
           concat_ws('; ', any_account.said, own_account.said), coalesce(models.said, '')
    FROM held h JOIN accounts x ON x.number = h.account JOIN application_imports r ON r.number = h.since
    {_VERSION.format(number="h.last")}
    LEFT JOIN identities i ON i.id = {{owner}}
    LEFT JOIN LATERAL (
        SELECT group_header(n.nomenclature) AS header, c.name FROM groups c
        JOIN group_versions n ON n.group_number = c.number AND n.from_import <= h.last
        WHERE c.number = h.path[1] ORDER BY n.from_import DESC LIMIT 1
    ) AS g ON h.path <> '{{}}'
    LEFT JOIN requests AS any_account ON any_account.account IS NULL
        AND (any_account.identity_id, any_account.application_id, any_account.header, any_account.section,
             any_account.permission) {_ASKED}
    LEFT JOIN requests AS own_account ON own_account.account = x.username
        AND (own_account.identity_id, own_account.application_id, own_account.header, own_account.section,
             own_account.permission) {_ASKED}
    LEFT JOIN models ON (models.identity_id, models.application_id, models.is_group, models.header, models.section,
                         models.permission) {_GIVEN}
    WHERE true {{conditions_of_people}}
    ORDER BY h.application_key, x.username, h.name_key, h.path, h.access"""


def _conditions(filters: dict[str, str], query: dict[str, Any]) -> str:
    return "".join(f" AND {condition}" for name, condition in filters.items() if query.get(name) is not None)


def _live(query: dict[str, Any]) -> str:
    """Leave out archived applications unless one is asked for."""
    return "" if query.get("applicationId") else " AND NOT a.is_archived"


async def everyones_access(db: Db, query: dict[str, Any], config: Config, now: datetime) -> Page[AccessRow]:
    """List the access of all accounts with why, now or at a past moment."""
    as_of = await moment_of(db, query.get("asOf"), config, now)
    sql = _filled(
        _ACCESS,
        conditions=_conditions(_FILTERS, query) + _live(query),
        owner="identity_then(x, %(moment)s)" if as_of else "x.identity_id",
        conditions_of_people=_conditions(_FILTERS_OF_PEOPLE, query),
    )
    given = {name: query.get(name) for name in (*_FILTERS, *_FILTERS_OF_PEOPLE)}
    return whole(_access_row, sql, **given, moment=as_of or now, as_of=as_of or FOREVER)


def _filled(sql: str, **parts: str) -> str:
    """Replace the named parts; the SQL itself contains braces."""
    for name, part in parts.items():
        sql = sql.replace(f"{{{name}}}", part)
    return sql


def _identity(row: Sequence[Any]) -> HolderIdentity | None:
    id, name, title, department, status = row
    return HolderIdentity(id, name, title, department, IdentityStatus(status)) if id else None


def _access_row(row: Sequence[Any]) -> AccessRow:
    access, number, build_end, path, requests, models = row[18:]
    return AccessRow(
        row[0],
        _identity(row[1:6]),
        HolderAccount(*row[6:10]),
        HeldEntitlement(*row[10:18]),
        Access(access),
        ImportReason(number, build_end),
        path,
        requests,
        models,
    )


# The whole history of the entitlements of each application that had an import in the period.
_CHANGES = f"""
    WITH imports AS MATERIALIZED (
        SELECT r.application_id, r.number, r.build_end FROM application_imports r
        WHERE r.status = 'Finished' AND r.build_end >= %(start)s AND r.build_end < %(end)s
    ), held AS (
        SELECT {_AS_HELD}, unnest(range_agg(h.during)) AS during
        FROM entitlements e JOIN applications a ON a.id = e.application_id
        CROSS JOIN LATERAL holdings_of(e.id, NULL) AS h
        WHERE h.id = e.id AND e.application_id IN (SELECT application_id FROM imports) {{conditions}}
        GROUP BY {_GROUPED}
    )
    SELECT r.build_end, r.number, c.change, h.application, {_IDENTITY}, {_ACCOUNT}, {_HELD}, h.access, {_PATH}
    FROM held h CROSS JOIN LATERAL (VALUES ('Gained', lower(h.during)), ('Lost', upper(h.during))) AS c (change, number)
    JOIN imports r ON r.number = c.number
    JOIN accounts x ON x.number = h.account
    {_VERSION.format(number="r.number")}
    -- Whose it was just before it was lost.
    LEFT JOIN identities i ON i.id = identity_then(
        x, r.build_end - CASE WHEN c.change = 'Lost' THEN interval '1 us' ELSE interval '0' END)
    WHERE true {{conditions_of_people}}
    ORDER BY r.number, c.change, x.username, h.name_key, h.path, h.access"""


async def access_changes(db: Db, query: dict[str, Any], config: Config) -> Page[AccessChange]:
    """List the access that accounts gained and lost in a period, in the order of imports."""
    sql = _filled(
        _CHANGES,
        conditions=_conditions(_FILTERS, query) + _live(query),
        conditions_of_people=_conditions({"identityId": _FILTERS_OF_PEOPLE["identityId"]}, query),
    )
    given = {name: query.get(name) for name in (*_FILTERS, "identityId")}
    return whole(_change_row, sql, **given, start=start_of(query, config), end=end_of(query, config) or FOREVER)


def _change_row(row: Sequence[Any]) -> AccessChange:
    access, path = row[21:]
    account, entitlement = HolderAccount(*row[9:13]), HeldEntitlement(*row[13:21])
    return AccessChange(*(*row[:4], _identity(row[4:9]), account, entitlement, Access(access), path))
