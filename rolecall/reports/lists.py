"""Define the lists that a report can contain: every list of the API, and lists that only reports have."""

from typing import Any

import msgspec

# Import the routes of each package to register its lists: a worker would not import all of them otherwise.
import rolecall.access_models.routes
import rolecall.access_requests.routes
import rolecall.application_imports.dry_runs.routes
import rolecall.application_imports.routes
import rolecall.applications.routes
import rolecall.audit.routes
import rolecall.conflicts.routes
import rolecall.duties.routes
import rolecall.effective_access.routes
import rolecall.entitlements.routes
import rolecall.exports.routes
import rolecall.identities.routes
import rolecall.personnel_events.routes
import rolecall.stand_ins.routes
import rolecall.tokens.routes
import rolecall.webhooks.routes  # noqa: F401
from rolecall.accounts.routes import an_as_of
from rolecall.core.caller import Scope
from rolecall.core.errors import Invalid
from rolecall.entitlements.model import EntitlementKind
from rolecall.reports.approvals import approvals
from rolecall.reports.holdings import access_changes, everyones_access
from rolecall.reports.shapes import AccessChange, AccessRow, Approval
from rolecall.settings.policy import Level
from rolecall.web.bodies import Reader, a_flag, a_guid, a_word_of
from rolecall.web.lists import LISTS, ListSource
from rolecall.web.periods import A_PERIOD

_OF_ENTITLEMENTS = {
    "applicationId": a_guid,
    "identityId": a_guid,
    "kind": a_word_of(EntitlementKind),
    "riskRating": a_word_of(Level),
    "privileged": a_flag,
}
# The start is required: without it, the whole history of all applications would be read.
_PERIOD = {**A_PERIOD, "from": msgspec.structs.replace(A_PERIOD["from"], required=True)}


def _source(name: str, scope: Scope, filters: dict[str, Reader], item: Any, function: Any, *wants: str) -> ListSource:
    return ListSource(name=name, scope=scope, filters=filters, item=item, function=function, wants=frozenset(wants))


_FILES_ONLY = [
    _source(
        "access",
        Scope.APPLICATIONS_READ,
        {"asOf": an_as_of, **_OF_ENTITLEMENTS, "explained": a_flag},
        AccessRow,
        everyones_access,
        *("db", "query", "config", "now"),
    ),
    _source(
        "access-changes",
        Scope.APPLICATIONS_READ,
        {**_PERIOD, **_OF_ENTITLEMENTS},
        AccessChange,
        access_changes,
        *("db", "query", "config"),
    ),
    _source(
        "approvals",
        Scope.ACCESS_REQUESTS_READ,
        {**_PERIOD, "applicationId": a_guid, "identityId": a_guid},
        Approval,
        approvals,
        *("db", "query", "config"),
    ),
]


def known_lists() -> dict[str, ListSource]:
    return dict(sorted({**LISTS, **{source.name: source for source in _FILES_ONLY}}.items()))


def list_named(name: str) -> ListSource:
    found = known_lists().get(name)
    if found is None:
        raise Invalid.on("list", f"There is no list named {name}; use one of {', '.join(known_lists())}")
    return found
