"""Who holds an entitlement, now or at a past moment, and who ever held it.

The holdings on each page are computed once per import (`core/gathering.py`); a page then reads only its own accounts.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value
from rolecall.core.gathering import Gathered, fetch_gathered
from rolecall.core.paging import PAGE_SIZE, Page
from rolecall.effective_access.queries import Asked, Given, imports_by_number, reasons_of
from rolecall.effective_access.shapes import HolderAccount, HolderIdentity, Holding, ImportReason
from rolecall.entitlements.shapes import EntitlementDetail
from rolecall.identities.model import IdentityStatus

# Direct holdings first, then by the groups on the way. A key names one holding among those of its entitlement.
_KEY = "concat_ws(' ', h.account, array_to_string(h.path, '>'), h.access, lower(h.during))"
_NOW = """(SELECT h.id, h.account, h.path, h.access, int4range(min(lower(h.during)), NULL) AS during
           FROM holdings_of(%(id)s, %(as_of)s) AS h GROUP BY 1, 2, 3, 4)"""
_EVER = """(SELECT h.id, h.account, h.path, h.access, unnest(range_agg(h.during)) AS during
            FROM holdings_of(%(id)s, NULL) AS h GROUP BY 1, 2, 3, 4)"""


class _Row(msgspec.Struct):
    """A holding from the database; `name` and `group` are the names that a request or a model uses to grant it."""

    key: str
    application_id: UUID
    is_group: bool
    header: str
    section: str
    name: str
    account_id: UUID
    username: str
    is_active: bool
    is_locked: bool
    identity_id: UUID | None
    identity_name: str | None
    title: str | None
    department: str | None
    status: str | None
    access: str
    since: int
    until: int | None
    path: list[str]
    group_header: str | None

    @property
    def asked(self) -> Asked:
        if self.path:
            return self.application_id, self.group_header or "", "", self.path[0]
        return self.application_id, self.header, self.section, self.name

    @property
    def given(self) -> Given:
        if self.path or self.is_group:
            return self.application_id, True, "", "", self.path[0] if self.path else self.name
        return self.application_id, False, self.header, self.section, self.name


async def holders_of(
    db: Db, entitlement: EntitlementDetail, page: int, as_of: datetime | None, now: datetime
) -> Page[Holding]:
    """List who holds it, by username."""
    number = await _last_import(db, entitlement, as_of)
    gathered = await fetch_gathered(
        db,
        f"holders of {entitlement.id} after {number}, joined {await _joined(db, entitlement)}",
        f"""SELECT {_KEY} AS key, row_number() OVER (ORDER BY a.username, h.path, h.access) - 1 AS place
            FROM {_NOW} AS h JOIN accounts a ON a.number = h.account""",
        page,
        now,
        id=entitlement.id,
        as_of=number,
    )
    rows = await _read(db, _NOW, entitlement.id, gathered, number, as_of or now)
    return await _shown(db, rows, gathered.total, page, as_of)


async def history_of(
    db: Db, entitlement: EntitlementDetail, page: int, as_of: datetime | None, now: datetime
) -> Page[Holding]:
    """List who ever held it, the newest first; up to a past moment if one is given."""
    number = await _last_import(db, entitlement, as_of)
    gathered = await fetch_gathered(
        db,
        f"history of {entitlement.id} up to {number}, joined {await _joined(db, entitlement)}",
        f"""SELECT {_KEY} AS key,
                   row_number() OVER (ORDER BY lower(h.during) DESC, a.username, h.path, h.access) - 1 AS place
            FROM {_EVER} AS h JOIN accounts a ON a.number = h.account WHERE lower(h.during) <= %(as_of)s""",
        page,
        now,
        id=entitlement.id,
        as_of=number,
    )
    rows = await _read(db, _EVER, entitlement.id, gathered, number, as_of or now)
    # A holding that ended later was still held at that time.
    rows = [msgspec.structs.replace(row, until=None if (row.until or 0) > number else row.until) for row in rows]
    return await _shown(db, rows, gathered.total, page, as_of)


async def _last_import(db: Db, entitlement: EntitlementDetail, as_of: datetime | None) -> int:
    number: int | None = await fetch_value(
        db,
        """SELECT max(number)::int FROM application_imports WHERE application_id = %(application)s
           AND status = 'Finished' AND build_end <= coalesce(%(as_of)s::timestamptz, 'infinity')""",
        application=entitlement.application.id,
        as_of=as_of,
    )
    return number or 0


async def _joined(db: Db, entitlement: EntitlementDetail) -> str:
    """Name the former selves of an entitlement, which are part of its history."""
    rows = await fetch_rows(db, "SELECT id FROM former_selves(%(id)s)", id=entitlement.id)
    return " ".join(sorted(str(id) for (id,) in rows))


async def _read(db: Db, holdings: str, id: UUID, gathered: Gathered, as_of: int, moment: datetime) -> list[_Row]:
    found = await fetch_all(
        db,
        _Row,
        f"""SELECT {_KEY} AS key, e.application_id, e.kind = 'Group' AS is_group, e.header, e.section, e.name,
                   a.id AS account_id, a.username, coalesce(v.is_active, false) AS is_active,
                   coalesce(v.is_locked, false) AS is_locked, i.id AS identity_id,
                   i.first_name || ' ' || i.last_name AS identity_name, i.title, i.department, i.status,
                   h.access, lower(h.during) AS since, upper(h.during) AS until, group_names(h.path) AS path,
                   (SELECT group_header(g.nomenclature) FROM group_versions g WHERE g.group_number = h.path[1]
                    AND g.from_import <= greatest(lower(h.during), %(as_of)s)
                    ORDER BY g.from_import DESC LIMIT 1) AS group_header
            FROM {holdings} AS h JOIN accounts a ON a.number = h.account JOIN entitlements e ON e.id = h.id
            LEFT JOIN LATERAL (SELECT * FROM account_versions v WHERE v.account_number = a.number
                               AND v.from_import <= %(as_of)s ORDER BY v.from_import DESC LIMIT 1) AS v ON true
            LEFT JOIN application_imports r ON r.number = upper(h.during) AND r.number <= %(as_of)s
            -- Whose it was until it ended.
            LEFT JOIN identities i ON i.id = identity_then(a, coalesce(r.build_end - interval '1 us', %(moment)s))
            WHERE h.account = ANY(%(accounts)s)""",
        id=id,
        as_of=as_of,
        moment=moment,
        accounts=[int(key.split(" ", 1)[0]) for key in gathered.keys],
    )
    by_key = {row.key: row for row in found}
    return [by_key[key] for key in gathered.keys if key in by_key]


async def _shown(db: Db, rows: Sequence[_Row], total: int, page: int, as_of: datetime | None) -> Page[Holding]:
    imports = await imports_by_number(db, {n for row in rows for n in (row.since, row.until) if n is not None})
    items: list[Holding] = []
    # Explain ended holdings as of their end.
    for until, ended in groupby(rows, key=lambda row: row.until):
        moment = imports[until].build_end if until is not None else as_of
        items += await _explained(db, list(ended), imports, moment)
    return Page(items, total, page, PAGE_SIZE, -(-total // PAGE_SIZE))


async def _explained(
    db: Db, rows: Sequence[_Row], imports: dict[int, ImportReason], moment: datetime | None
) -> list[Holding]:
    reasons = await reasons_of(db, list({row.identity_id for row in rows if row.identity_id}), moment)
    return [
        Holding(
            _identity(row),
            HolderAccount(row.account_id, row.username, row.is_active, row.is_locked),
            Access(row.access),
            imports[row.since],
            imports[row.until] if row.until is not None else None,
            row.path,
            reasons.why(row.identity_id, row.asked, row.given, row.username, imports[row.since]),
        )
        for row in rows
    ]


def _identity(row: _Row) -> HolderIdentity | None:
    if row.identity_id is None or row.identity_name is None or row.status is None:
        return None
    status = IdentityStatus(row.status)
    return HolderIdentity(row.identity_id, row.identity_name, row.title or "", row.department or "", status)
