"""Routes of accounts, groups and permissions; `an_as_of` reads the parameter `asOf`."""

from datetime import datetime
from typing import Any
from uuid import UUID

from litestar import Router

from rolecall.accounts import actions, queries, roster
from rolecall.accounts.model import Match
from rolecall.accounts.moments import moment_of, require_data
from rolecall.accounts.shapes import AccountDetail, AccountItem, GroupItem, PermissionItem, PinBody, RosterItem
from rolecall.applications import queries as applications
from rolecall.core.caller import Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page, PastPage
from rolecall.web.bodies import Reader, a_flag, a_guid, a_text, a_word_of
from rolecall.web.operations import operation

_AS_OF_RULE = "must be an ISO 8601 date or date-time, or the number of an import"
_LARGEST_NUMBER = 2**31 - 1


def _as_of(text: str) -> str:
    """Check only the format; `moment_of` parses the value, because it knows the time zone."""
    if text.isascii() and text.isdecimal():
        # Eleven digits are enough for the comparison, and `int` refuses strings of thousands of digits.
        if int(text[:11]) > _LARGEST_NUMBER:
            raise ValueError(_AS_OF_RULE)
        return text
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(_AS_OF_RULE) from None
    return text


MOST_DAYS = 36_500


def _days(text: str) -> int:
    if text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MOST_DAYS:
        return int(text)
    raise ValueError(f"must be a whole number from 1 to {MOST_DAYS}")


_AS_OF_FORMS = [{"format": "date"}, {"format": "date-time"}, {"pattern": "^[0-9]{1,9}$"}]
an_as_of = Reader(_as_of, {"type": "string", "anyOf": _AS_OF_FORMS})


async def _state(
    db: Db, application: str, query: dict[str, Any], config: Config, now: datetime
) -> tuple[UUID, datetime | None]:
    """Return the id of the application, and the moment of `asOf`.

    Without `asOf`, the moment is None, and the query of the list checks whether the application exists.
    """
    id = known_guid("Application", application)
    if query.get("asOf") is None:
        return id, None
    await applications.get(db, id)
    as_of = await moment_of(db, query["asOf"], config, now)
    await require_data(db, id, as_of)
    return id, as_of


@operation(
    "GET", "/{id:str}/accounts", scope=Scope.APPLICATIONS_READ, query={"asOf": an_as_of, "match": a_word_of(Match)}
)
async def list_accounts(db: Db, id: str, query: dict[str, Any], config: Config, now: datetime) -> Page[AccountItem]:
    """List an application's accounts, ordered by username, now or as of a time or an import."""
    application_id, as_of = await _state(db, id, query, config, now)
    return await queries.accounts_of(db, application_id, query["page"], as_of, query.get("match"))


@operation("GET", "/{id:str}/groups", scope=Scope.APPLICATIONS_READ, query={"asOf": an_as_of})
async def list_groups(db: Db, id: str, query: dict[str, Any], config: Config, now: datetime) -> Page[GroupItem]:
    """List an application's groups, ordered by name, now or as of a time or an import."""
    application_id, as_of = await _state(db, id, query, config, now)
    return await queries.groups_of(db, application_id, query["page"], as_of)


@operation("GET", "/{id:str}/permissions", scope=Scope.APPLICATIONS_READ, query={"asOf": an_as_of})
async def list_permissions(
    db: Db, id: str, query: dict[str, Any], config: Config, now: datetime
) -> Page[PermissionItem]:
    """List an application's permissions, now or as of a time or an import."""
    application_id, as_of = await _state(db, id, query, config, now)
    return await queries.permissions_of(db, application_id, query["page"], as_of)


@operation("PUT", "/{id:str}/match", scope=Scope.CONFIG_MANAGE, body=PinBody)
async def pin_account(db: Db, id: str, raw: Json, facts: Facts) -> AccountItem:
    """Pin an account to an identity, or pin it as never matched. Imports do not change a pin."""
    account_id = known_guid("Account", id)
    await actions.pin_account(db, account_id, raw, facts)
    return await queries.account_item(db, account_id)


@operation("DELETE", "/{id:str}/match", scope=Scope.CONFIG_MANAGE, status=204)
async def unpin_account(db: Db, id: str, now: datetime) -> None:
    """Remove the pin and match the account again."""
    await actions.unpin_account(db, known_guid("Account", id), now)


a_number_of_days = Reader(_days, {"type": "integer", "minimum": 1, "maximum": MOST_DAYS})
_ROSTER: dict[str, tuple[str, Reader]] = {
    "applicationId": ("application_id", a_guid),
    "match": ("match", a_word_of(Match)),
    "identityId": ("identity_id", a_guid),
    "search": ("search", a_text),
    "isActive": ("is_active", a_flag),
    "leaver": ("leaver", a_flag),
    "dormantDays": ("dormant_days", a_number_of_days),
    "privileged": ("privileged", a_flag),
    "neverUsed": ("never_used", a_flag),
}


@operation(
    "GET",
    "/",
    scope=Scope.APPLICATIONS_READ,
    query={"asOf": an_as_of, **{name: reader for name, (_, reader) in _ROSTER.items()}},
)
async def list_all_accounts(db: Db, query: dict[str, Any], config: Config, now: datetime) -> PastPage[RosterItem]:
    """List accounts across applications, ordered by application and username, now or as of a time or an import.

    `leaver` finds accounts whose identity is no longer active. `dormantDays` finds accounts whose last login is more
    than this many days ago. `privileged` finds accounts that hold a privileged entitlement. `neverUsed` finds accounts
    that never logged in, in applications that report logins.
    """
    as_of = await moment_of(db, query.get("asOf"), config, now)
    given = {field: query.get(name) for name, (field, _) in _ROSTER.items()}
    return await roster.list_accounts(db, query["page"], roster.RosterFilters(**given), as_of, now)


@operation("GET", "/{id:str}", scope=Scope.APPLICATIONS_READ)
async def get_account(db: Db, id: str, now: datetime) -> AccountDetail:
    """Get one account as of the last import that contains it."""
    return await roster.get(db, known_guid("Account", id), now)


holdings = Router(
    "/api/applications", route_handlers=[list_accounts, list_groups, list_permissions], tags=["Administration"]
)
accounts = Router(
    "/api/accounts",
    route_handlers=[list_all_accounts, get_account, pin_account, unpin_account],
    tags=["Administration"],
)
