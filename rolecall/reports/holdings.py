"""Query everyone's access and its changes. The database computes and sorts all rows, so they can be streamed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rolecall.accounts.model import Access
from rolecall.accounts.moments import moment_of, with_missing
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.paging import Page, PastPage, whole
from rolecall.effective_access.queries import FOREVER, GRANTING_MODELS, GRANTING_REQUESTS
from rolecall.effective_access.shapes import HolderAccount, HolderIdentity, ImportReason
from rolecall.entitlements.queries import ENTITLEMENTS_AT
from rolecall.identities.model import IdentityStatus
from rolecall.reports.shapes import AccessChange, AccessRow, HeldEntitlement
from rolecall.web.periods import end_of, start_of

_IDENTITY = "i.id, i.first_name || ' ' || i.last_name, i.title, i.department, i.status"
_ACCOUNT = "x.id, x.username, coalesce(v.is_active, false), coalesce(v.is_locked, false)"
_ENTITLEMENT = "e.id, e.kind, e.header, e.section, e.name, e.display_name, e.risk_rating, e.is_privileged"
# The version `v` of an account `x` that is valid as of an import.
_VERSION = """LEFT JOIN account_versions v ON v.account_number = x.number AND v.from_import <= {number}
    AND (v.until_import IS NULL OR v.until_import > {number})"""
# The holdings `h` of entitlements `e` in applications `a`: computed for each entitlement if a filter selects only a few
# of them, otherwise for each application.
_OF_EACH = """{entitlements} e JOIN applications a ON a.id = e.application_id {joins}
    CROSS JOIN LATERAL holdings_of(e.id, {as_of}) AS h
    -- Exclude holdings under a former name: the former name has its own rows.
    WHERE h.id = e.id"""
_OF_ALL = """applications a {joins}
    CROSS JOIN LATERAL holdings_within(a.id, {as_of}) AS h JOIN {entitlements} e ON e.id = h.id WHERE true"""
_FEW = ("privileged",)
# The names of the groups on each path, computed once for all holders.
_WAYS = """ways AS MATERIALIZED (
        SELECT DISTINCT w.path, array_to_string(group_names(w.path), ' > ') AS names FROM applications a {joins}
        CROSS JOIN LATERAL groups_above(
            ARRAY(SELECT g.number FROM groups g WHERE g.application_id = a.id), {as_of}) AS u
        CROSS JOIN LATERAL (VALUES (u.path), (u.path || u.above)) AS w (path)
        WHERE w.path <> '{{}}'
    )"""
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
# The key that joins held access to requests and access models. These have no header or section for a group. Access
# through groups gets the key of the group that the account is in directly. The key is one array, because the planner
# would join on only some of several columns.
_GIVEN = """ARRAY[i.id::text, e.application_id::text, (e.kind = 'Group' OR h.path <> '{}')::text,
        CASE WHEN e.kind = 'Group' OR h.path <> '{}' THEN '' ELSE e.header END,
        CASE WHEN e.kind = 'Group' OR h.path <> '{}' THEN '' ELSE e.section END,
        CASE WHEN h.path = '{}' THEN e.name ELSE g.name END] COLLATE "C\""""
_WHO_APPROVED = """(SELECT string_agg(concat(p -> 'standIn' ->> 'name' || ' for ', p ->> 'name'), ', ')
                    FROM json_array_elements(g.approved_by) AS p)"""
_JOIN_LAST = "JOIN last ON last.application_id = a.id"

_ACCESS = f"""
    WITH last AS MATERIALIZED (
        SELECT r.application_id, max(r.number)::int AS number FROM application_imports r
        WHERE r.status = 'Finished' AND r.build_end <= %(moment)s GROUP BY 1
    ), {{then}}requests AS MATERIALIZED (
        SELECT ARRAY[g.identity_id::text, g.application_id::text, g.is_group::text, g.header, g.section, g.permission]
               COLLATE "C" AS key, g.account, string_agg(
                   concat('#', g.number, ' ', g.action, ' approved by ' || {_WHO_APPROVED}), '; ' ORDER BY g.number
               ) AS said
        FROM ({GRANTING_REQUESTS.format(people="r.identity_id IS NOT NULL")}) AS g GROUP BY 1, 2
    ), models AS MATERIALIZED (
        SELECT ARRAY[g.identity_id::text, g.application_id::text, g.is_group::text, g.header, g.section, g.permission]
               COLLATE "C" AS key,
               string_agg(DISTINCT concat(g.name, ' v', g.version, ' committed by ', g.caller_name), '; ') AS said
        FROM ({GRANTING_MODELS.format(people="true")}) AS g GROUP BY 1
    ), {_WAYS.format(joins=_JOIN_LAST, as_of="last.number")}, named_groups AS MATERIALIZED (
        SELECT c.number, c.name FROM groups c JOIN last USING (application_id)
    ), held AS (
        SELECT e.id, h.account, h.path, h.access, last.number AS last, min(lower(h.during)) AS since
        FROM {{holdings}}{{conditions}} GROUP BY 1, 2, 3, 4, 5
    )
    SELECT a.name, {_IDENTITY}, {_ACCOUNT}, {_ENTITLEMENT}, h.access, r.number, r.build_end,
           coalesce(w.names, ''), concat_ws('; ', any_account.said, own_account.said), coalesce(models.said, '')
    FROM held h JOIN {{entitlements}} e ON e.id = h.id JOIN applications a ON a.id = e.application_id
    JOIN accounts x ON x.number = h.account JOIN application_imports r ON r.number = h.since
    {_VERSION.format(number="h.last")}
    LEFT JOIN identities i ON i.id = {{owner}}
    LEFT JOIN ways w ON w.path = h.path
    LEFT JOIN named_groups g ON g.number = h.path[1]
    LEFT JOIN requests AS any_account ON any_account.account IS NULL AND any_account.key = {_GIVEN}
    LEFT JOIN requests AS own_account ON own_account.account = x.username AND own_account.key = {_GIVEN}
    LEFT JOIN models ON models.key = {_GIVEN}
    WHERE true {{conditions_of_people}}
    ORDER BY a.list_key, x.username, e.name_key, h.path, h.access"""


def _conditions(filters: dict[str, str], query: dict[str, Any]) -> str:
    return "".join(f" AND {condition}" for name, condition in filters.items() if query.get(name) is not None)


def _holdings(query: dict[str, Any]) -> str:
    return _OF_EACH if any(query.get(name) for name in _FEW) else _OF_ALL


def _live(query: dict[str, Any]) -> str:
    """Return SQL that excludes archived applications, unless the caller filters by application."""
    return "" if query.get("applicationId") else " AND NOT a.is_archived"


# A part of a WITH clause: the entitlements as of a past time, computed once.
_THEN = f"shown AS MATERIALIZED (SELECT e.* FROM {ENTITLEMENTS_AT} AS e), "


async def everyones_access(db: Db, query: dict[str, Any], config: Config, now: datetime) -> PastPage[AccessRow]:
    """List the access of all accounts with its reasons, now or at a past time."""
    as_of = await moment_of(db, query.get("asOf"), config, now)
    shown = "shown" if as_of else "entitlements"
    sql = _filled(
        _ACCESS,
        then=_THEN if as_of else "",
        entitlements=shown,
        holdings=_holdings(query).format(joins=_JOIN_LAST, as_of="last.number", entitlements=shown),
        conditions=_conditions(_FILTERS, query) + ("" if as_of else _live(query)),
        owner="identity_then(x, %(moment)s)" if as_of else "x.identity_id",
        conditions_of_people=_conditions(_FILTERS_OF_PEOPLE, query),
    )
    given = {name: query.get(name) for name in (*_FILTERS, *_FILTERS_OF_PEOPLE)}
    found = whole(_access_row, sql, **given, moment=as_of or now, begin=as_of or FOREVER, as_of=as_of or FOREVER)
    return await with_missing(db, found, query.get("applicationId"), as_of)


def _filled(sql: str, **parts: str) -> str:
    """Return the SQL with named parts filled in; `str.format` cannot do this, because the SQL contains braces."""
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


# The path of a holding; a group that was renamed is replaced by the group with its latest name.
_LATEST_PATH = """CASE WHEN h.path && (SELECT array_agg(r.number) FROM renamed r) THEN ARRAY(
        SELECT coalesce(r.latest, p.number) FROM unnest(h.path) WITH ORDINALITY AS p (number, place)
        LEFT JOIN renamed r ON r.number = p.number ORDER BY p.place) ELSE h.path END"""
# Read the whole history of each application that had an import in the period.
_JOIN_CHANGED = "JOIN changed ON changed.application_id = a.id"
_CHANGES = f"""
    WITH imports AS MATERIALIZED (
        SELECT r.application_id, r.number, r.build_end FROM application_imports r
        WHERE r.status = 'Finished' AND r.build_end >= %(start)s AND r.build_end < %(end)s
    ), changed AS MATERIALIZED (
        SELECT DISTINCT application_id FROM imports
    ), renamed AS MATERIALIZED (
        SELECT g.number, (SELECT l.number FROM groups l WHERE l.id = latest_self(g.id)) AS latest
        FROM curations c JOIN groups g ON g.id = c.same_as
    ), {_WAYS.format(joins=_JOIN_CHANGED, as_of="NULL")}, held AS (
        -- A rename is not a change: former names count as the latest name.
        SELECT latest_self(e.id) AS id, h.account, {_LATEST_PATH} AS path, h.access,
               unnest(range_agg(h.during)) AS during
        FROM {{holdings}}{{conditions}} GROUP BY 1, 2, 3, 4
    )
    SELECT r.build_end, r.number, c.change, a.name, {_IDENTITY}, {_ACCOUNT}, {_ENTITLEMENT}, h.access,
           coalesce(w.names, '')
    FROM held h CROSS JOIN LATERAL (VALUES ('Gained', lower(h.during)), ('Lost', upper(h.during))) AS c (change, number)
    JOIN imports r ON r.number = c.number
    JOIN entitlements e ON e.id = h.id JOIN applications a ON a.id = e.application_id
    JOIN accounts x ON x.number = h.account
    LEFT JOIN LATERAL (
        SELECT v.is_active, v.is_locked FROM account_versions v
        WHERE v.account_number = x.number AND v.from_import <= r.number ORDER BY v.from_import DESC LIMIT 1
    ) AS v ON true
    -- For lost access, the identity that the account belonged to just before the import.
    LEFT JOIN identities i ON i.id = identity_then(
        x, r.build_end - CASE WHEN c.change = 'Lost' THEN interval '1 us' ELSE interval '0' END)
    LEFT JOIN ways w ON w.path = h.path
    WHERE true {{conditions_of_people}}
    ORDER BY r.number, c.change, x.username, e.name_key, h.path, h.access"""


async def access_changes(db: Db, query: dict[str, Any], config: Config) -> Page[AccessChange]:
    """List the access that accounts gained and lost in a period, in the order of imports."""
    sql = _filled(
        _CHANGES,
        holdings=_holdings(query).format(joins=_JOIN_CHANGED, as_of="NULL", entitlements="entitlements"),
        conditions=_conditions(_FILTERS, query),
        conditions_of_people=_conditions({"identityId": _FILTERS_OF_PEOPLE["identityId"]}, query),
    )
    given = {name: query.get(name) for name in (*_FILTERS, "identityId")}
    return whole(_change_row, sql, **given, start=start_of(query, config), end=end_of(query, config) or FOREVER)


def _change_row(row: Sequence[Any]) -> AccessChange:
    access, path = row[21:]
    account, entitlement = HolderAccount(*row[9:13]), HeldEntitlement(*row[13:21])
    return AccessChange(*(*row[:4], _identity(row[4:9]), account, entitlement, Access(access), path))
