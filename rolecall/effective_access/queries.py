"""Compute an identity's access and the reasons for it, now or at a past moment.

Access is read from imports. A request is a reason from its resolution until it is reopened or canceled, or until
another request removes the access. An access model is a reason while it matches the identity.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, groupby
from typing import Any
from uuid import UUID

import msgspec

from rolecall.accounts import queries as accounts_queries
from rolecall.accounts.model import Access, group_header
from rolecall.accounts.shapes import Account, HeldPermission, Membership
from rolecall.applications import queries as applications
from rolecall.core.db import Db, fetch_rows
from rolecall.effective_access.shapes import (
    AccessEntry,
    AccessOfAccount,
    AccountAccess,
    ApplicationAccess,
    EffectiveAccess,
    ImportReason,
    ModelReason,
    RequestApprover,
    RequestReason,
    Why,
)
from rolecall.settings.policy import Level
from rolecall.work_items.shapes import PersonReference

# A time after every stored time, used as the end of open periods and as the time of queries about the present.
FOREVER = datetime(9999, 12, 31, tzinfo=UTC)
# The key of access in requests and models: (application, is group, header, section, permission). For a group, the
# header is left out, because imports may change it.
Given = tuple[UUID, bool, str, str, str]
# The first and the last moment of a period.
Span = tuple[datetime, datetime]


class _HeldEntry(msgspec.Struct, frozen=True):
    """Access that an account holds; `given` is its key in requests and models."""

    given: Given
    header: str
    section: str
    permission: str
    access: Access
    value: str
    risk_rating: Level
    path: list[str]
    from_import: int


class _FulfilledRequest(msgspec.Struct, frozen=True):
    """A request that granted access; `account` is the username if the request names an account that was imported."""

    account: str | None
    reason: RequestReason


async def access_of(db: Db, identity_id: UUID, as_of: datetime | None) -> EffectiveAccess:
    """Return the access of the identity's accounts with the reasons for it, now or as of a past moment."""
    accounts = await _accounts(db, identity_id, as_of)
    access = await _entries(db, accounts, identity_id, as_of)
    by_application = defaultdict[UUID, list[AccountAccess]](list)
    for account, _ in accounts:
        by_application[account.application_id].append(
            AccountAccess(account.id, account.username, account.is_active, account.is_locked, access[account.id])
        )
    first = await _first_imports(db, list(by_application), as_of)
    summaries = await applications.summaries(db, {*by_application, *first})
    # Applications with accounts come first, already sorted. `pop` removes them from `first`, so that only applications
    # without accounts remain there, ordered by name.
    found = [ApplicationAccess(summaries[id], of, first.pop(id, None)) for id, of in by_application.items()]
    unknown = [ApplicationAccess(summaries[id], [], moment) for id, moment in first.items()]
    return EffectiveAccess(identity_id, as_of, [*found, *unknown])


class AccessCounts(msgspec.Struct, frozen=True):
    """How many access entries an identity has, and how many of them have no request or model as a reason."""

    held: int
    unexplained: int


async def access_counts(db: Db, identity_ids: Sequence[UUID]) -> dict[UUID, AccessCounts]:
    """Count the access entries of each identity; the number of queries does not depend on the number of identities."""
    accounts = await accounts_queries.of_identities(db, identity_ids)
    whose = {account.id: (identity_id, account.username) for identity_id, account in accounts}
    reasons = await reasons_of(db, identity_ids, None)
    held, unexplained = Counter[UUID](), Counter[UUID]()
    for account_id, entry in await _holdings(db, [account for _, account in accounts], None):
        identity_id, username = whose[account_id]
        held[identity_id] += 1
        unexplained[identity_id] += not reasons.explain(identity_id, entry.given, username)
    return {id: AccessCounts(held[id], unexplained[id]) for id in identity_ids}


async def access_of_account(db: Db, id: UUID, as_of: datetime | None) -> AccessOfAccount:
    """Return the access of one account, now or at a past moment, even if the account has no identity."""
    account, number, identity_id = await accounts_queries.account_at(db, id, as_of)
    first = await _first_imports(db, [account.application_id], None)
    since = first.get(account.application_id)
    if number == 0:
        return AccessOfAccount(id, as_of, identity_id, [], since)
    access = await _entries(db, [(account, number)], identity_id, as_of)
    return AccessOfAccount(id, as_of, identity_id, access[id], since)


async def _entries(
    db: Db, accounts: Sequence[tuple[Account, int | None]], identity_id: UUID | None, as_of: datetime | None
) -> dict[UUID, list[AccessEntry]]:
    """Return the access entries of these accounts by account id. All belong to `identity_id`; None means nobody."""
    held: dict[UUID, list[_HeldEntry]] = defaultdict(list)
    # Query accounts with the same import number together: those of one application or, without `as_of`, all accounts.
    for number, alike in groupby(accounts, key=lambda entry: entry[1]):
        for account_id, entry in await _holdings(db, [account for account, _ in alike], number):
            held[account_id].append(entry)
    imports = await imports_by_number(db, {entry.from_import for entries in held.values() for entry in entries})
    reasons = await reasons_of(db, [identity_id] if identity_id else [], as_of)

    def shown(entry: _HeldEntry, username: str) -> AccessEntry:
        why = reasons.why(identity_id, entry.given, username, imports[entry.from_import])
        return AccessEntry(
            entry.header,
            entry.section,
            entry.permission,
            entry.access,
            entry.value,
            entry.risk_rating,
            entry.path[0] if entry.path else "",
            entry.path,
            why,
        )

    return {account.id: [shown(entry, account.username) for entry in held[account.id]] for account, _ in accounts}


async def _accounts(db: Db, identity_id: UUID, as_of: datetime | None) -> list[tuple[Account, int | None]]:
    """Return accounts sorted by application, each with the number of the last import up to `as_of`.

    If `as_of` is None, the numbers are None too.
    """
    if as_of is None:
        return [(account, None) for account in await accounts_queries.of_identity(db, identity_id)]
    return [(account, number) for account, number in await accounts_queries.of_identity_at(db, identity_id, as_of)]


async def _holdings(db: Db, accounts: Sequence[Account], number: int | None) -> Iterator[tuple[UUID, _HeldEntry]]:
    """Yield memberships, then permissions, each with its account id; both are sorted by name within an account."""
    application = {account.id: account.application_id for account in accounts}
    memberships = await accounts_queries.memberships(db, list(application), number)
    permissions = await accounts_queries.permissions_held(db, list(application), number)
    direct = {(member.account_id, member.group): member for member in memberships if not member.path}

    def a_membership(member: Membership) -> _HeldEntry:
        header, group = group_header(member.nomenclature), member.group
        # Nested access was granted through the group that the account is in directly.
        source = direct.get((member.account_id, member.path[0]), member) if member.path else member
        given = (application[member.account_id], True, "", "", source.group)
        risk = Level(member.risk_rating)
        return _HeldEntry(given, header, "", group, Access.GRANT, "", risk, member.path, member.from_import)

    def a_permission(held: HeldPermission) -> _HeldEntry:
        words = held.header, held.section, held.permission
        member = direct.get((held.holder_id, held.group))
        given = a_membership(member).given if member else (application[held.holder_id], False, *words)
        access, risk = Access(held.access), Level(held.risk_rating)
        return _HeldEntry(given, *words, access, held.value, risk, held.path, held.from_import)

    return chain(
        ((member.account_id, a_membership(member)) for member in memberships),
        ((held.holder_id, a_permission(held)) for held in permissions),
    )


async def imports_by_number(db: Db, numbers: Iterable[int]) -> dict[int, ImportReason]:
    rows = await fetch_rows(
        db,
        "SELECT number, build_end FROM application_imports WHERE number = ANY(%(numbers)s)",
        numbers=list(numbers),
    )
    return {number: ImportReason(number, build_end) for number, build_end in rows}


async def _first_imports(db: Db, application_ids: Sequence[UUID], as_of: datetime | None) -> dict[UUID, datetime]:
    """Return when the first import of each of these applications finished.

    Add other applications whose first import finished after `as_of`; add identity sources only if they have accounts.
    """
    rows = await fetch_rows(
        db,
        """SELECT a.id, first.build_end FROM applications a
           CROSS JOIN LATERAL (SELECT r.build_end FROM application_imports r
                               WHERE r.application_id = a.id AND r.status = 'Finished'
                               ORDER BY r.number LIMIT 1) AS first
           WHERE a.id = ANY(%(ids)s) OR (first.build_end > %(as_of)s::timestamptz AND (NOT a.is_identity_source
               OR EXISTS (SELECT FROM accounts c WHERE c.application_id = a.id)))
           ORDER BY a.name_key, a.id""",
        ids=list(application_ids),
        as_of=as_of,
    )
    return dict(rows)


# The reviewers who approved a request, as JSON of `RequestApprover`; `{request}` is the id of the request.
APPROVERS = """(SELECT json_agg(json_strip_nulls(json_build_object(
        'id', s.reviewer_id, 'name', s.reviewer_name, 'standIn', CASE WHEN s.stand_in_id IS NOT NULL
            THEN json_build_object('id', s.stand_in_id, 'name', s.stand_in_name) END)) ORDER BY s.rule, s.position)
    FROM responses s WHERE s.request_id = {request} AND s.type = 'Approve' AND s.response = 'Approved')"""
# The requests that explained access at some time from `begin` to `as_of`. A request explains access from its resolution
# until it is reopened or canceled, or until a later request removes the access (from the same account, if both name
# one). It explains access under all later names of the entitlement, and a membership in a group even if the header of
# the group has changed. `people` is a condition on `r`.
GRANTING_REQUESTS = f"""
    WITH fulfilled AS MATERIALIZED (
        SELECT r.identity_id, r.id, r.number, r.application_id, r.action, r.list_key, f.since,
               CASE WHEN r.completed_on <= %(as_of)s THEN r.completed_on END AS completed_on,
               (SELECT a.username FROM accounts a
                WHERE a.application_id = r.application_id AND a.username = r.target_name) AS account
        FROM access_requests r CROSS JOIN LATERAL (
            SELECT coalesce(r.resolved_on, r.completed_on) AS since WHERE r.status IN ('Resolved', 'Completed')
            UNION ALL
            SELECT l.since FROM past_resolutions l WHERE l.request_id = r.id AND l.until > %(begin)s
        ) AS f
        WHERE {{people}} AND f.since <= %(as_of)s
    ), named AS MATERIALIZED (
        SELECT f.id AS request_id, f.since AS from_then, p.approved_access IN ('None', 'Deny') AS is_taken, n.*
        FROM fulfilled f JOIN privileges p ON p.request_id = f.id
        CROSS JOIN LATERAL (
            SELECT f.application_id, false AS is_group, p.header, p.section, p.permission
            UNION ALL
            SELECT f.application_id, true, '', '', p.permission
            FROM groups g WHERE g.application_id = f.application_id AND g.name = p.permission AND p.section = ''
            AND EXISTS (SELECT FROM group_versions v
                        WHERE v.group_number = g.number AND group_header(v.nomenclature) = p.header)
        ) AS n
    ), changed AS MATERIALIZED (
        SELECT f.*, n.is_taken, n.is_group, n.header, n.section, n.permission
        FROM fulfilled f JOIN (
            SELECT n.* FROM named n
            UNION ALL
            SELECT n.request_id, n.from_then, n.is_taken, n.application_id, n.is_group, x.header, x.section,
                   x.permission
            FROM named n JOIN renamed_entitlements x
            ON (x.application_id, x.is_group, x.former_header, x.former_section, x.former_permission)
               = (n.application_id, n.is_group, n.header, n.section, n.permission)
        ) AS n ON n.request_id = f.id AND n.from_then = f.since
    )
    SELECT g.identity_id, g.application_id, g.is_group, g.header, g.section, g.permission, g.account, g.id, g.number,
           g.action, g.since, g.completed_on,
           {APPROVERS.format(request="g.id")} AS approved_by
    FROM changed g
    WHERE NOT g.is_taken AND NOT EXISTS (
        SELECT FROM changed t WHERE t.is_taken AND (t.since, t.number) > (g.since, g.number) AND t.since <= %(begin)s
        AND (t.identity_id, t.application_id, t.is_group, t.header, t.section, t.permission)
            = (g.identity_id, g.application_id, g.is_group, g.header, g.section, g.permission)
        AND coalesce(t.account = g.account, true))
    ORDER BY g.list_key"""


# The models that matched people at some time from `begin` to `as_of`, with the grants of all versions that were in
# effect in this period; a grant in several versions is from the latest. Grants also cover later names of entitlements.
# Grants are read once per model, not once per person.
GRANTING_MODELS = """
    WITH matched AS MATERIALIZED (
        SELECT identity_id, model_id FROM access_model_members WHERE {people} AND since <= %(as_of)s
        UNION
        SELECT identity_id, model_id FROM past_model_members
        WHERE {people} AND since <= %(as_of)s AND until > %(begin)s
    ), granted AS MATERIALIZED (
        SELECT DISTINCT ON (m.id, given.application_id, given.is_group, given.header, given.section, given.permission)
               m.id, m.name_key, at_the_time.definition ->> 'name' AS name, at_the_time.version,
               at_the_time.caller_id, at_the_time.caller_name, at_the_time.committed_at, given.application_id,
               given.is_group, given.header, given.section, given.permission
        FROM access_models m
        CROSS JOIN LATERAL (
            SELECT v.* FROM access_model_versions v
            WHERE v.model_id = m.id AND v.committed_at <= %(as_of)s AND NOT EXISTS (
                SELECT FROM access_model_versions later
                WHERE later.model_id = m.id AND later.version > v.version AND later.committed_at <= %(begin)s)
        ) AS at_the_time
        CROSS JOIN LATERAL access_model_grants_in(at_the_time.definition -> 'access') AS given
        WHERE m.id IN (SELECT model_id FROM matched)
        ORDER BY m.id, given.application_id, given.is_group, given.header, given.section, given.permission,
                 at_the_time.version DESC
    ), known AS (
        SELECT g.* FROM granted g
        UNION ALL
        SELECT g.id, g.name_key, g.name, g.version, g.caller_id, g.caller_name, g.committed_at, g.application_id,
               g.is_group, x.header, x.section, x.permission
        FROM granted g JOIN renamed_entitlements x
        ON (x.application_id, x.is_group, x.former_header, x.former_section, x.former_permission)
           = (g.application_id, g.is_group, g.header, g.section, g.permission)
    )
    SELECT x.identity_id, g.application_id, g.is_group, g.header, g.section, g.permission, g.id, g.name, g.version,
           g.caller_id, g.caller_name, g.committed_at
    FROM known g JOIN matched x ON x.model_id = g.id
    ORDER BY g.name_key, g.id"""


class Reasons(msgspec.Struct, frozen=True):
    """The requests and models that explain access, keyed by identity and by the key of the access."""

    requests: dict[tuple[UUID, Given], list[_FulfilledRequest]]
    models: dict[tuple[UUID, Given], list[ModelReason]]

    def why(self, identity_id: UUID | None, given: Given, username: str, application_import: ImportReason) -> Why:
        """Return the reasons for one entitlement of an account; without an identity, the only reason is the import."""
        if identity_id is None:
            return Why(application_import, [], [])
        requests, models = self._of(identity_id, given, username)
        return Why(application_import, requests, models)

    def explain(self, identity_id: UUID, given: Given, username: str) -> bool:
        return any(self._of(identity_id, given, username))

    def _of(self, identity_id: UUID, given: Given, username: str) -> tuple[list[RequestReason], list[ModelReason]]:
        found = self.requests.get((identity_id, given), [])
        requests = [each.reason for each in found if each.account in (None, username)]
        return requests, self.models.get((identity_id, given), [])


async def reasons_of(db: Db, identity_ids: Sequence[UUID], as_of: datetime | None) -> Reasons:
    """Return the reasons for the access of these identities at `as_of` or, if it is None, now. Use only two queries."""
    requests = GRANTING_REQUESTS.format(people="r.identity_id = ANY(%(identities)s)")
    models = GRANTING_MODELS.format(people="identity_id = ANY(%(identities)s)")
    begin, end = at(as_of)
    given = {"identities": list(identity_ids), "begin": begin, "as_of": end}
    return Reasons(
        _by_request(await fetch_rows(db, requests, **given)), _by_model(await fetch_rows(db, models, **given))
    )


# SQL that finds the reasons in several periods at once, for different identities. `query` is the SQL for one period.
_IN_SPANS = """SELECT span.n, g.* FROM (
        SELECT n, max(begin) AS begin, max(until) AS until, array_agg(identity_id) AS people
        FROM unnest(%(places)s::int[], %(begins)s::timestamptz[], %(ends)s::timestamptz[], %(identities)s::uuid[])
             AS u (n, begin, until, identity_id) GROUP BY n) AS span
    CROSS JOIN LATERAL ({query}) AS g"""


def at(moment: datetime | None) -> Span:
    """Return the span that consists of one moment; None means now."""
    return moment or FOREVER, moment or FOREVER


async def reasons_in(db: Db, people: Mapping[Span, Iterable[UUID]]) -> dict[Span, Reasons]:
    """Return the reasons for the access of identities in several spans of time, with two queries in total."""
    entries = [(n, *span, id) for n, (span, ids) in enumerate(people.items()) for id in ids]
    places, begins, ends, identities = zip(*entries, strict=True) if entries else ((), (), (), ())
    given = {"places": list(places), "begins": list(begins), "ends": list(ends), "identities": list(identities)}

    async def by_span(sql: str) -> dict[int, list[Sequence[Any]]]:
        query = _IN_SPANS.format(query=sql.replace("%(as_of)s", "span.until").replace("%(begin)s", "span.begin"))
        found = defaultdict[int, list[Sequence[Any]]](list)
        for n, *row in await fetch_rows(db, query, **given):
            found[n].append(row)
        return found

    requests = await by_span(GRANTING_REQUESTS.format(people="r.identity_id = ANY(span.people)"))
    models = await by_span(GRANTING_MODELS.format(people="identity_id = ANY(span.people)"))
    return {span: Reasons(_by_request(requests[n]), _by_model(models[n])) for n, span in enumerate(people)}


def _by_request(rows: Iterable[Sequence[Any]]) -> dict[tuple[UUID, Given], list[_FulfilledRequest]]:
    found = defaultdict[tuple[UUID, Given], list[_FulfilledRequest]](list)
    for identity_id, application_id, is_group, header, section, permission, account, *reason, approvals in rows:
        people = msgspec.convert(approvals or [], list[RequestApprover])
        given = _FulfilledRequest(account, RequestReason(*(*reason, people)))
        found[identity_id, (application_id, is_group, header, section, permission)].append(given)
    return found


def _by_model(rows: Iterable[Sequence[Any]]) -> dict[tuple[UUID, Given], list[ModelReason]]:
    found = defaultdict[tuple[UUID, Given], list[ModelReason]](list)
    for identity_id, application_id, is_group, header, section, permission, id, name, version, *by, on in rows:
        reason = ModelReason(id, name, version, PersonReference(*by), on)
        found[identity_id, (application_id, is_group, header, section, permission)].append(reason)
    return found
