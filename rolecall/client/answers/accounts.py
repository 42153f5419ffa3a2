"""Responses about accounts."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, ApplicationSummary, Json, Pair


class Account(Answer):
    id: UUID
    username: str
    name: str
    email: str
    is_active: bool
    is_locked: bool
    last_login: str | None
    identity_id: UUID | None
    match: str
    metadata: list[Pair]
    matched_on: datetime


class Group(Answer):
    id: UUID
    name: str
    description: str
    nomenclature: str
    metadata: list[Pair]


class Permission(Answer):
    id: UUID
    header: str
    section: str
    permission: str
    description: str
    risk_rating: str


class EffectiveAccess(Answer):
    identity_id: UUID
    as_of: datetime | None
    applications: list["ApplicationAccess"]


class ApplicationAccess(Answer):
    application: ApplicationSummary
    accounts: list["AccountAccess"]
    no_data_before: datetime | None


class AccountAccess(Answer):
    id: UUID
    username: str
    is_active: bool
    is_locked: bool
    access: list["AccessEntry"]


class AccessEntry(Answer):
    header: str
    section: str
    permission: str
    access: str
    value: str
    risk_rating: str
    group: str
    path: list[str]
    why: Json


class AccountIdentity(Answer):
    id: UUID
    name: str
    status: str


class RosterAccount(Answer):
    """An account in the list of all applications."""

    id: UUID
    application: ApplicationSummary
    username: str
    name: str
    email: str
    is_active: bool
    is_locked: bool
    last_login: str | None
    identity: AccountIdentity | None
    match: str
    matched_on: datetime


class AccountDetail(RosterAccount):
    employee_id: str
    metadata: list[Pair]
    is_present: bool
    first_seen: datetime | None
    last_seen: datetime | None


class AccessOfAccount(Answer):
    account_id: UUID
    as_of: datetime | None
    identity_id: UUID | None
    access: list[AccessEntry]
    no_data_before: datetime | None
