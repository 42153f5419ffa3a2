"""Calls about entitlements."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id, When


class EntitlementChanges(TypedDict, total=False):
    display_name: str
    explanation: str
    owner_id: Id
    risk_rating: str
    is_privileged: bool
    tags: Sequence[str]
    same_as: Id


def list_entitlements(
    *,
    application_id: Id | None = None,
    kind: str | None = None,
    search: str | None = None,
    risk_rating: str | None = None,
    privileged: bool | None = None,
    owner_id: Id | None = None,
    tag: str | None = None,
    as_of: When | int | None = None,
) -> Call[Page[answers.Entitlement]]:
    """List groups and permissions of all applications, now or as of a time or an import number."""
    return describe.get(
        Page[answers.Entitlement],
        "/api/entitlements",
        application_id=application_id,
        kind=kind,
        search=search,
        risk_rating=risk_rating,
        owner_id=owner_id,
        tag=tag,
        as_of=as_of,
        **describe.flags({"is_privileged": privileged}),
    )


def get_entitlement(entitlement_id: Id) -> Call[answers.EntitlementDetail]:
    """Show a group or a permission."""
    return describe.get(answers.EntitlementDetail, "/api/entitlements/{}", entitlement_id)


def curate_entitlement(entitlement_id: Id, **changes: Unpack[EntitlementChanges]) -> Call[answers.EntitlementDetail]:
    """Change the curated fields of an entitlement, such as explanation, owner and risk; "" clears a field."""
    return describe.call("PATCH", answers.EntitlementDetail, "/api/entitlements/{}", entitlement_id, body=changes)


def list_holders(entitlement_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Holding]]:
    """List who holds an entitlement, directly or through groups, and why; now or as of a time or an import."""
    return describe.get(Page[answers.Holding], "/api/entitlements/{}/holders", entitlement_id, as_of=as_of)


def list_holder_history(entitlement_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Holding]]:
    """List who held an entitlement since when and until when, newest first."""
    return describe.get(Page[answers.Holding], "/api/entitlements/{}/history", entitlement_id, as_of=as_of)
