"""Calls about identities."""

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id, When
from rolecall.client.calls.personnel_events import IdentityFields


def list_identities() -> Call[Page[answers.Identity]]:
    """List identities by name."""
    return describe.get(Page[answers.Identity], "/api/identities")


def search_identities(
    text: str | None = None,
    *,
    whole: bool = False,
    status: str | None = None,
    type: str | None = None,
    department: str | None = None,
) -> Call[Page[answers.Identity]]:
    """Find people by name or e-mail prefix, employee ID or id, or by status, type and department.

    `whole` matches complete names only.
    """
    given = {"q": text, "whole": "true" if whole else None, "status": status, "type": type, "department": department}
    return describe.get(Page[answers.Identity], "/api/identities/search", **given)


def get_identity(identity_id: Id) -> Call[answers.Identity]:
    """Show an identity."""
    return describe.get(answers.Identity, "/api/identities/{}", identity_id)


def get_access(identity_id: Id, *, as_of: When | int | None = None) -> Call[answers.EffectiveAccess]:
    """Show what an identity can do, now or as of a time or an import, and why."""
    return describe.get(answers.EffectiveAccess, "/api/identities/{}/access", identity_id, as_of=as_of)


def _identity(fields: IdentityFields) -> Json:
    plain = describe.camels({name: value for name, value in fields.items() if name != "custom_fields"})
    return plain | {f"customField{number}": value for number, value in fields.get("custom_fields", {}).items()}
