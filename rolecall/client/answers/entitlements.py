"""Responses about entitlements."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, ApplicationSummary, Json


class Owner(Answer):
    id: UUID
    name: str


class HolderCounts(Answer):
    accounts: int
    identities: int


class Entitlement(Answer):
    """A group or a permission in the catalogue."""

    id: UUID
    kind: str
    application: ApplicationSummary
    name: str
    header: str
    section: str
    description: str
    display_name: str
    explanation: str
    risk_rating: str
    is_privileged: bool
    owner: Owner | None
    former_owner: Owner | None
    tags: list[str]
    holders: HolderCounts
    first_seen: datetime | None
    last_seen: datetime | None


class EntitlementReference(Answer):
    id: UUID
    name: str


class EntitlementDetail(Entitlement):
    is_present: bool
    imported_risk_rating: str
    parents: list[EntitlementReference]
    cycle: list[str]
    same_as: EntitlementReference | None
    renamed_to: EntitlementReference | None


class HolderIdentity(Answer):
    id: UUID
    name: str
    title: str
    department: str
    status: str


class HolderAccount(Answer):
    id: UUID
    username: str
    is_active: bool
    is_locked: bool


class Holding(Answer):
    """An account that holds an entitlement; `path` names the groups it comes through, empty when direct."""

    identity: HolderIdentity | None
    account: HolderAccount
    access: str
    since: Json
    until: Json | None
    path: list[str]
    why: Json
