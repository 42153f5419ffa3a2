"""What an identity can do, and why."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, groupby
from uuid import UUID

import msgspec

from rolecall.accounts import queries as accounts_queries
from rolecall.accounts.model import Access, group_header
from rolecall.accounts.shapes import Account, Held, Membership
from rolecall.applications import queries as applications
from rolecall.core.db import Db, fetch_rows
from rolecall.effective_access.shapes import (
    AccessEntry,
    AccountAccess,
    ApplicationAccess,
    EffectiveAccess,
    ImportReason,
    ModelReason,
    RequestReason,
    Why,
)
from rolecall.settings.policy import Level
from rolecall.work_items.shapes import PersonReference

# How a request names what it gives: application, header, section, permission.
Asked = tuple[UUID, str, str, str]
# How a model does: application, whether it is a group, header, section, permission.
Given = tuple[UUID, bool, str, str, str]


class _Held(msgspec.Struct, frozen=True):
    """Something that an account holds, and how a request or a model would name it to give it."""

    asked: Asked
    given: Given
    header: str
    section: str
    permission: str
    access: Access
    value: str
    risk_rating: Level
    group: str
    from_import: int


async def access_of(db: Db, identity_id: UUID, as_of: datetime | None) -> EffectiveAccess:
    accounts = await _accounts(db, identity_id, as_of)
    held: dict[UUID, list[_Held]] = defaultdict(list)
    # Those of one application share the import that was its last; now, after all imports, one question serves all.
    for number, alike in groupby(accounts, key=lambda entry: entry[1]):
        for account_id, entry in await _holdings(db, [account for account, _ in alike], number):
            held[account_id].append(entry)
    imports = await _imports(db, {entry.from_import for entries in held.values() for entry in entries})
    requests = await _requests(db, identity_id, as_of)
    models = await _models(db, identity_id, as_of)

    def shown(entry: _Held) -> AccessEntry:
        why = Why(imports[entry.from_import], requests.get(entry.asked, []), models.get(entry.given, []))
        return AccessEntry(
            entry.header,
            entry.section,
            entry.permission,
            entry.access,
            entry.value,
            entry.risk_rating,
            entry.group,
            why,
        )

    by_application = defaultdict[UUID, list[AccountAccess]](list)
    for account, _ in accounts:
        access = [shown(entry) for entry in held[account.id]]
        by_application[account.application_id].append(
            AccountAccess(account.id, account.username, account.is_active, account.is_locked, access)
        )
    summaries = await applications.summaries(db, by_application)
    return EffectiveAccess(
        identity_id, as_of, [ApplicationAccess(summaries[id], found) for id, found in by_application.items()]
    )


async def _accounts(db: Db, identity_id: UUID, as_of: datetime | None) -> list[tuple[Account, int | None]]:
    """By application; each with the import that was its application's last then, or None for now."""
    if as_of is None:
        return [(account, None) for account in await accounts_queries.of_identity(db, identity_id)]
    return [(account, number) for account, number in await accounts_queries.of_identity_at(db, identity_id, as_of)]


async def _holdings(db: Db, accounts: Sequence[Account], number: int | None) -> Iterator[tuple[UUID, _Held]]:
    """Groups first, then permissions, each account's by name."""
    application = {account.id: account.application_id for account in accounts}
    memberships = await accounts_queries.memberships(db, list(application), number)
    permissions = await accounts_queries.permissions_held(db, list(application), number)
    through = {(member.account_id, member.group): member for member in memberships}

    def a_membership(member: Membership) -> _Held:
        header, group = group_header(member.nomenclature), member.group
        there = application[member.account_id]
        asked, given = (there, header, "", group), (there, True, "", "", group)
        risk = Level(member.risk_rating)
        return _Held(asked, given, header, "", group, Access.GRANT, "", risk, "", member.from_import)

    def a_permission(held: Held) -> _Held:
        words, since = (held.header, held.section, held.permission), held.from_import
        there = application[held.holder_id]
        asked, given = (there, *words), (there, False, *words)
        if held.group:
            # It is there because the group is, and since both are.
            member = through[held.holder_id, held.group]
            group = a_membership(member)
            asked, given, since = group.asked, group.given, max(since, member.from_import)
        access, risk = Access(held.access), Level(held.risk_rating)
        return _Held(asked, given, *words, access, held.value, risk, held.group, since)

    return chain(
        ((member.account_id, a_membership(member)) for member in memberships),
        ((held.holder_id, a_permission(held)) for held in permissions),
    )


async def _imports(db: Db, numbers: Iterable[int]) -> dict[int, ImportReason]:
    rows = await fetch_rows(
        db,
        "SELECT number, build_end FROM application_imports WHERE number = ANY(%(numbers)s)",
        numbers=list(numbers),
    )
    return {number: ImportReason(number, build_end) for number, build_end in rows}


async def _requests(db: Db, identity_id: UUID, as_of: datetime | None) -> dict[Asked, list[RequestReason]]:
    """The requests that gave something, completed by then, and who approved them."""
    rows = await fetch_rows(
        db,
        """SELECT r.application_id, p.header, p.section, p.permission, r.id, r.number, r.action, r.completed_on,
                  (SELECT json_agg(json_build_object('id', s.reviewer_id, 'name', s.reviewer_name)
                                   ORDER BY s.rule, s.position)
                   FROM responses s
                   WHERE s.request_id = r.id AND s.type = 'Approve' AND s.response = 'Approved')
           FROM access_requests r JOIN privileges p ON p.request_id = r.id
           WHERE r.identity_id = %(identity)s AND r.status = 'Completed' AND p.approved_access NOT IN ('None', 'Deny')
             AND (%(as_of)s::timestamptz IS NULL OR r.completed_on <= %(as_of)s)
           ORDER BY r.list_key""",
        identity=identity_id,
        as_of=as_of,
    )
    found = defaultdict[Asked, list[RequestReason]](list)
    for application_id, header, section, permission, id, number, action, completed_on, approvals in rows:
        people = msgspec.convert(approvals or [], list[PersonReference])
        reason = RequestReason(id, number, action, completed_on, people)
        found[application_id, header, section, permission].append(reason)
    return found


async def _models(db: Db, identity_id: UUID, as_of: datetime | None) -> dict[Given, list[ModelReason]]:
    """The models that match the identity and did then, with what each gave in the version of that time."""
    rows = await fetch_rows(
        db,
        """SELECT given.application_id, given.is_group, given.header, given.section, given.permission, m.id, m.name
           FROM access_model_members x JOIN access_models m ON m.id = x.model_id
           CROSS JOIN LATERAL (SELECT v.definition FROM access_model_versions v
                               WHERE v.model_id = m.id
                                 AND v.committed_at <= coalesce(%(as_of)s::timestamptz, 'infinity')
                               ORDER BY v.version DESC LIMIT 1) AS at_the_time
           CROSS JOIN LATERAL access_model_grants_in(at_the_time.definition -> 'access') AS given
           WHERE x.identity_id = %(identity)s AND x.since <= coalesce(%(as_of)s::timestamptz, 'infinity')
           ORDER BY m.name_key, m.id""",
        identity=identity_id,
        as_of=as_of,
    )
    found = defaultdict[Given, list[ModelReason]](list)
    for application_id, is_group, header, section, permission, id, name in rows:
        found[application_id, is_group, header, section, permission].append(ModelReason(id, name))
    return found
