"""Define lists that only the console has, so that they can be exported like the lists of the API."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_models import actions as models
from rolecall.access_models.shapes import Affected
from rolecall.access_requests import queries as requests
from rolecall.access_requests.shapes import AccessRequestItem
from rolecall.accounts import queries as accounts
from rolecall.accounts.model import Access, Match
from rolecall.accounts.moments import moment_of
from rolecall.accounts.routes import an_as_of
from rolecall.accounts.shapes import AccountItem
from rolecall.applications import queries as applications
from rolecall.connector_templates import queries as templates
from rolecall.connector_templates.shapes import ConnectorTemplateDetail
from rolecall.console import overview, queries, signing_in
from rolecall.console.inputs import some_words
from rolecall.console.overview import TroubledImport
from rolecall.console.signing_in import ConsolePerson
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import EVERYTHING, Page, read_already
from rolecall.effective_access.queries import access_of, access_of_account
from rolecall.effective_access.shapes import AccessEntry, Why
from rolecall.identities import queries as identities
from rolecall.identities.authority import RecordType
from rolecall.reviews import item_queries
from rolecall.reviews.item_queries import ItemFilters
from rolecall.reviews.model import ItemFact, ReviewItemStatus
from rolecall.reviews.quality import ReviewerQuality, quality_of_reviewers
from rolecall.reviews.shapes import ReviewItem
from rolecall.reviews.workspace import AccessToDecide, by_access
from rolecall.settings.policy import Level, RequirementType
from rolecall.web.bodies import Reader, a_guid, a_word_of
from rolecall.web.lists import LISTS, RECORD, ListSource

CONSOLE_LISTS: dict[str, ListSource] = {}


def _list(
    name: str, scope: Scope, item: Any, filters: dict[str, Reader], *wants: str
) -> Callable[[Callable[..., Awaitable[Page[Any]]]], Callable[..., Awaitable[Page[Any]]]]:
    def decorate(function: Callable[..., Awaitable[Page[Any]]]) -> Callable[..., Awaitable[Page[Any]]]:
        CONSOLE_LISTS[name] = ListSource(
            name=name, scope=scope, filters=filters, item=item, function=function, wants=frozenset(wants)
        )
        return function

    return decorate


def list_named(name: str) -> ListSource | None:
    return LISTS.get(name) or CONSOLE_LISTS.get(name)


_ASKED_AS = ("db", "query", "caller", "now")
_ASKS = msgspec.structs.replace(a_word_of(RequirementType), required=True)


@_list("requests-to-answer", Scope.ACCESS_REQUESTS_READ, AccessRequestItem, {"asks": _ASKS}, *_ASKED_AS)
async def requests_to_answer(db: Db, query: dict[str, Any], caller: Caller, now: datetime) -> Page[AccessRequestItem]:
    person = await signing_in.person_of(db, caller.id, now)
    assert person
    return overview.all_asking(person, query["asks"])


@_list("event-requests", Scope.PERSONNEL_EVENTS_READ, AccessRequestItem, {}, "id")
async def event_requests(id: str) -> Page[AccessRequestItem]:
    return requests.of_event(known_guid("PersonnelEvent", id))


@_list("troubled-imports", Scope.IMPORTS_READ, TroubledImport, {}, "db", "now")
async def troubled_imports(db: Db, now: datetime) -> Page[TroubledImport]:
    return read_already(await overview.troubled_imports(db, now))


@_list("connector-templates", Scope.APPLICATIONS_READ, ConnectorTemplateDetail, {}, "db")
async def connector_templates(db: Db) -> Page[ConnectorTemplateDetail]:
    return read_already((await templates.all_templates(db)).templates)


@_list("people-and-roles", Scope.CONFIG_MANAGE, ConsolePerson, {}, "db")
async def people_and_roles(db: Db) -> Page[ConsolePerson]:
    return read_already(await signing_in.console_people(db))


@_list("simulated-changes", Scope.ACCESS_REQUESTS_READ, Affected, {}, "db", "id")
async def simulated_changes(db: Db, id: str) -> Page[Affected]:
    return await models.everyone_affected(db, id)


@_list(
    "accounts-found",
    Scope.APPLICATIONS_READ,
    AccountItem,
    {"username": msgspec.structs.replace(some_words, required=True), "match": a_word_of(Match)},
    *("db", "query", "id"),
)
async def accounts_found(db: Db, query: dict[str, Any], id: str) -> Page[AccountItem]:
    application = await applications.get(db, known_guid("Application", id))
    return await accounts.accounts_named(db, application.id, EVERYTHING, query["username"], query.get("match"))


class AccessLine(msgspec.Struct, rename="camel"):
    """One access entry of an account.

    If the application has no data for the requested time, the line has no access, and `no_data_before` is the time at
    which the data begins.
    """

    application: str
    username: str | None = None
    header: str | None = None
    section: str | None = None
    permission: str | None = None
    access: Access | None = None
    value: str | None = None
    risk_rating: Level | None = None
    group: str | None = None
    path: list[str] | None = None
    why: Why | None = None
    no_data_before: datetime | None = None


def _line(application: str, username: str, entry: AccessEntry) -> AccessLine:
    return AccessLine(application, username, *(getattr(entry, name) for name in AccessEntry.__struct_fields__))


_AS_OF = {"asOf": an_as_of}
_WITH_TIME = ("db", "query", "id", "config", "now")


@_list("person-access", Scope.IDENTITIES_READ, AccessLine, _AS_OF, *_WITH_TIME)
async def person_access(db: Db, query: dict[str, Any], id: str, config: Config, now: datetime) -> Page[AccessLine]:
    identity = await identities.get(db, id)
    access = await access_of(db, identity.id, await moment_of(db, query.get("asOf"), config, now))
    lines: list[AccessLine] = []
    for there in access.applications:
        if there.is_unknown(access.as_of):
            lines.append(AccessLine(there.application.name, no_data_before=there.no_data_before))
        for account in there.accounts:
            lines += [_line(there.application.name, account.username, entry) for entry in account.access]
    return read_already(lines)


@_list("account-access", Scope.APPLICATIONS_READ, AccessLine, _AS_OF, *_WITH_TIME)
async def account_access(db: Db, query: dict[str, Any], id: str, config: Config, now: datetime) -> Page[AccessLine]:
    account = await accounts.account_item(db, known_guid("Account", id))
    application = await applications.get(db, await queries.application_of_account(db, account.id))
    held = await access_of_account(db, account.id, await moment_of(db, query.get("asOf"), config, now))
    if held.as_of and held.no_data_before and held.as_of < held.no_data_before:
        return read_already([AccessLine(application.name, account.username, no_data_before=held.no_data_before)])
    return read_already([_line(application.name, account.username, entry) for entry in held.access])


_OF_REVIEWER = {"reviewerId": a_guid, "applicationId": a_guid}


async def _reviewer(db: Db, query: dict[str, Any], caller: Caller, now: datetime) -> UUID:
    """Return the reviewer whose items are exported.

    People who see only their own records can export only items that they can decide.
    """
    person = await signing_in.person_of(db, caller.id, now)
    assert person
    asked: UUID = query.get("reviewerId") or person.id
    if person.is_limited and asked not in person.reviews_as():
        raise NotFound("Reviewer", str(asked))
    return asked


@_list(
    "my-review-items",
    Scope.REVIEWS_READ,
    ReviewItem,
    {**_OF_REVIEWER, "status": a_word_of(ReviewItemStatus), "reason": a_word_of(ItemFact)},
    *("db", "query", "id", "caller", "now"),
)
async def my_review_items(db: Db, query: dict[str, Any], id: str, caller: Caller, now: datetime) -> Page[ReviewItem]:
    filters = ItemFilters(
        status=query.get("status"),
        reviewer_id=await _reviewer(db, query, caller, now),
        application_id=query.get("applicationId"),
        reason=query.get("reason"),
    )
    return await item_queries.items(db, known_guid("Review", id), EVERYTHING, filters)


@_list("review-access", Scope.REVIEWS_READ, AccessToDecide, _OF_REVIEWER, *("db", "query", "id", "caller", "now"))
async def review_access(db: Db, query: dict[str, Any], id: str, caller: Caller, now: datetime) -> Page[AccessToDecide]:
    reviewer = await _reviewer(db, query, caller, now)
    return await by_access(db, known_guid("Review", id), [reviewer], EVERYTHING, query.get("applicationId"))


@_list("review-quality", Scope.REVIEWS_READ, ReviewerQuality, {}, "db", "id")
async def review_quality(db: Db, id: str) -> Page[ReviewerQuality]:
    return read_already(await quality_of_reviewers(db, known_guid("Review", id)))


# The lists that people who see only their own records may export. A list of OWN_LISTS then contains only their
# own records. A list of OWN_RECORDS belongs to one record, which they must be allowed to see; its entry has the type of
# the record and the filter that contains the id.
OWN_LISTS = frozenset(
    {"access-requests", "applications", "events", "identities", "notifications", "requests-to-answer"}
    | {"search-identities", "stand-ins"}
)
# Lists that show other people's records only to callers with an additional scope: the filter that selects one person,
# and the scope.
ONE_PERSON: dict[str, tuple[str, Scope]] = {"stand-ins": ("identityId", Scope.CONFIG_MANAGE)}
OWN_RECORDS: dict[str, tuple[RecordType, str]] = {
    "access-model-members": (RecordType.MODEL, RECORD),
    "account-access": (RecordType.ACCOUNT, RECORD),
    "accounts": (RecordType.APPLICATION, RECORD),
    "accounts-found": (RecordType.APPLICATION, RECORD),
    "changes": (RecordType.IMPORT, RECORD),
    "event-requests": (RecordType.EVENT, RECORD),
    "groups": (RecordType.APPLICATION, RECORD),
    "holder-history": (RecordType.ENTITLEMENT, RECORD),
    "holders": (RecordType.ENTITLEMENT, RECORD),
    "imports": (RecordType.APPLICATION, "applicationId"),
    "permissions": (RecordType.APPLICATION, RECORD),
    "person-access": (RecordType.PERSON, RECORD),
    "my-review-items": (RecordType.REVIEW, RECORD),
    "rejects": (RecordType.IMPORT, RECORD),
    "review-access": (RecordType.REVIEW, RECORD),
    "simulated-changes": (RecordType.MODEL, RECORD),
}


def record_in(name: str, given: dict[str, str]) -> tuple[RecordType, UUID] | None:
    """Return the record that an exported list of OWN_RECORDS belongs to, or None for other lists."""
    if name not in OWN_RECORDS:
        return None
    type, filter = OWN_RECORDS[name]
    return type, known_guid(type, given.get(filter, ""))
