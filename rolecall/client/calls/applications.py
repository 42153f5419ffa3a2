"""Calls about applications."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id, When


class ApplicationFields(TypedDict, total=False):
    priority: str
    is_identity_source: bool
    connector: Json | None
    schedule: Json | None
    owner_id: Id | None
    provisioner_ids: Sequence[Id]
    guard: Json | None


class ApplicationChanges(ApplicationFields, total=False):
    name: str
    is_archived: bool


def list_applications() -> Call[Page[answers.ApplicationSummary]]:
    """List applications by name."""
    return describe.get(Page[answers.ApplicationSummary], "/api/applications")


def get_application(application_id: Id) -> Call[answers.Application]:
    """Show an application, its connector and its last import."""
    return describe.get(answers.Application, "/api/applications/{}", application_id)


def get_application_configuration(application_id: Id) -> Call[answers.ApplicationConfiguration]:
    """Show the configuration of an application: columns, schedule, owner, provisioners, guard."""
    return describe.get(answers.ApplicationConfiguration, "/api/applications/{}/configuration", application_id)


def create_application(name: str, **fields: Unpack[ApplicationFields]) -> Call[answers.Application]:
    """Create an application with its connector and schedule."""
    return describe.call("POST", answers.Application, "/api/applications", body={"name": name, **fields})


def change_application(application_id: Id, **fields: Unpack[ApplicationChanges]) -> Call[answers.Application]:
    """Change the given fields."""
    return describe.call("PATCH", answers.Application, "/api/applications/{}", application_id, body=fields)


def list_accounts(
    application_id: Id, *, match: str | None = None, as_of: When | int | None = None
) -> Call[Page[answers.Account]]:
    """List the accounts of an application, now or as of a time or an import number."""
    return describe.get(
        Page[answers.Account], "/api/applications/{}/accounts", application_id, match=match, as_of=as_of
    )


def list_groups(application_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Group]]:
    """List the groups of an application."""
    return describe.get(Page[answers.Group], "/api/applications/{}/groups", application_id, as_of=as_of)


def list_permissions(application_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Permission]]:
    """List the permissions of an application."""
    return describe.get(Page[answers.Permission], "/api/applications/{}/permissions", application_id, as_of=as_of)


def roll_back(application_id: Id, import_number: int) -> Call[answers.NewImport]:
    """Stage an import that restores the application's data as it was after an earlier import."""
    return describe.post(
        answers.NewImport, "/api/applications/{}/rollback", application_id, import_number=import_number
    )


def pin_account(account_id: Id, identity_id: Id | None = None, *, never: bool = False) -> Call[answers.Account]:
    """Pin an account to an identity, or pin it as never matched."""
    body = {"never": True} if never else {"identity_id": identity_id}
    return describe.call("PUT", answers.Account, "/api/accounts/{}/match", account_id, body=body)


def unpin_account(account_id: Id) -> Call[None]:
    """Remove the pin, so that imports match the account again."""
    return describe.call("DELETE", type(None), "/api/accounts/{}/match", account_id)


def list_all_accounts(
    *,
    application_id: Id | None = None,
    match: str | None = None,
    identity_id: Id | None = None,
    search: str | None = None,
    active: bool | None = None,
    leaver: bool | None = None,
    dormant_days: int | None = None,
    privileged: bool | None = None,
    as_of: When | int | None = None,
) -> Call[Page[answers.RosterAccount]]:
    """List accounts across applications, now or as of a time or an import number."""
    flags = {"is_active": active, "leaver": leaver, "privileged": privileged}
    return describe.get(
        Page[answers.RosterAccount],
        "/api/accounts",
        application_id=application_id,
        match=match,
        identity_id=identity_id,
        search=search,
        dormant_days=dormant_days,
        as_of=as_of,
        **describe.flags(flags),
    )


def get_account(account_id: Id) -> Call[answers.AccountDetail]:
    """Show an account as it is now, or as it last was."""
    return describe.get(answers.AccountDetail, "/api/accounts/{}", account_id)


def get_account_access(account_id: Id, *, as_of: When | int | None = None) -> Call[answers.AccessOfAccount]:
    """Show what an account can do, matched or not, now or as of a time or an import, and why."""
    return describe.get(answers.AccessOfAccount, "/api/accounts/{}/access", account_id, as_of=as_of)
