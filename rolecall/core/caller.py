"""Callers and scopes: who sends a request, and what they are allowed to do."""

from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.core.errors import Forbidden


class Scope(StrEnum):
    APPLICATIONS_READ = "applications:read"
    IMPORTS_READ = "imports:read"
    IMPORTS_WRITE = "imports:write"
    IDENTITIES_READ = "identities:read"
    # Needed to change people and their supervisors, including through imports of an identity source.
    IDENTITIES_WRITE = "identities:write"
    PERSONNEL_EVENTS_READ = "personnel-events:read"
    PERSONNEL_EVENTS_WRITE = "personnel-events:write"
    ACCESS_REQUESTS_READ = "access-requests:read"
    ACCESS_REQUESTS_WRITE = "access-requests:write"
    DUTIES_READ = "duties:read"
    DUTIES_WRITE = "duties:write"
    REVIEWS_READ = "reviews:read"
    REVIEWS_WRITE = "reviews:write"
    WEBHOOKS_MANAGE = "webhooks:manage"
    CONFIG_MANAGE = "config:manage"
    TOKENS_MANAGE = "tokens:manage"
    AUDIT_READ = "audit:read"
    # Notifications and preferences of the person who created the token.
    NOTIFICATIONS_OWN = "notifications:own"
    # Reports of bounced mail; the only scope that a mail server needs.
    BOUNCES_WRITE = "bounces:write"


# What each scope permits, for people who create a token.
SCOPE_DESCRIPTIONS = {
    Scope.APPLICATIONS_READ: "See applications, accounts, groups, permissions and reports",
    Scope.IMPORTS_READ: "See imports with their files, logs and changes",
    Scope.IMPORTS_WRITE: "Upload files, and start, cancel, continue and roll back imports",
    Scope.IDENTITIES_READ: "See people and their access",
    Scope.IDENTITIES_WRITE: "Change people and their supervisors, including by imports from the source of people",
    Scope.PERSONNEL_EVENTS_READ: "See and preview personnel events",
    Scope.PERSONNEL_EVENTS_WRITE: "Create, assign, change and cancel personnel events",
    Scope.ACCESS_REQUESTS_READ: "See access requests, access models and stand-ins",
    Scope.ACCESS_REQUESTS_WRITE: "Create and decide access requests, and set stand-ins",
    Scope.DUTIES_READ: "See duties, rules and conflicts",
    Scope.DUTIES_WRITE: "Change duties and rules, and approve exceptions",
    Scope.REVIEWS_READ: "See access reviews and their items",
    Scope.REVIEWS_WRITE: "Create reviews and decide about their items",
    Scope.WEBHOOKS_MANAGE: "See and change webhooks, and resend deliveries",
    Scope.CONFIG_MANAGE: "Change applications, sources, access models, reports and settings",
    Scope.TOKENS_MANAGE: "See, create and revoke tokens",
    Scope.AUDIT_READ: "See and verify the audit log",
    Scope.NOTIFICATIONS_OWN: "See and change the notifications of the person who creates the token",
    Scope.BOUNCES_WRITE: "Report bounced mail",
}


class Caller(msgspec.Struct, frozen=True):
    """An API token, a person signed in to the console, `SYSTEM` or `NOBODY`.

    `is_limited`: the person sees only their own records (`identities/authority.py`).
    `stands_in_for`: the people for whom the person currently responds, each with the type of response.
    `refused_scopes`: scopes of the token that its owner may no longer use.
    `own_scopes`: scopes that the person has only for their own records, for example as a supervisor or owner.
    """

    id: UUID
    name: str
    scopes: frozenset[str]
    is_limited: bool = False
    is_person: bool = False
    stands_in_for: frozenset[tuple[UUID, str]] = frozenset()
    refused_scopes: frozenset[str] = frozenset()
    own_scopes: frozenset[str] = frozenset()

    def require(self, scope: str) -> None:
        if scope not in self.scopes:
            raise Forbidden(scope, is_lost_by_owner=scope in self.refused_scopes)


# The caller of background work, such as the tick or an import.
SYSTEM = Caller(UUID(int=0), "System", frozenset())
# The caller of operations that need no token.
NOBODY = Caller(UUID(int=0), "", frozenset())
