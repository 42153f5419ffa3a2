"""Roles that an administrator assigns to people, and the scopes of each."""

from enum import StrEnum

from rolecall.core.caller import Scope


class Role(StrEnum):
    """A role that an administrator assigns to a person. Without a role, a person sees only their own records."""

    ADMINISTRATOR = "Administrator"
    PEOPLE = "People"
    OPERATOR = "Operator"
    REVIEWER = "Reviewer"
    PROVISIONER = "Provisioner"
    AUDITOR = "Auditor"


# Roles with which a person sees only their own records; None is a person without a role.
LIMITED = (None, Role.PROVISIONER)

_READ = frozenset(scope for scope in Scope if scope.endswith(":read"))
_OPERATED = {Scope.IMPORTS_WRITE, Scope.PERSONNEL_EVENTS_WRITE, Scope.ACCESS_REQUESTS_WRITE, Scope.WEBHOOKS_MANAGE}
SCOPES: dict[Role, frozenset[Scope]] = {
    Role.ADMINISTRATOR: frozenset(Scope),
    Role.PEOPLE: _READ | _OPERATED | {Scope.IDENTITIES_WRITE},
    Role.OPERATOR: _READ | _OPERATED,
    Role.REVIEWER: _READ - {Scope.AUDIT_READ} | {Scope.ACCESS_REQUESTS_WRITE},
    Role.PROVISIONER: _READ - {Scope.AUDIT_READ} | {Scope.ACCESS_REQUESTS_WRITE, Scope.IMPORTS_WRITE},
    Role.AUDITOR: _READ,
}


def scopes_over_all_records(role: str | None) -> frozenset[Scope]:
    """Return the scopes that a role has for all records: none without a role, or with a role in `LIMITED`."""
    return frozenset() if role is None or role in LIMITED else SCOPES[Role(role)]
