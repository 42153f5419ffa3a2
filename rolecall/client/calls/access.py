"""Describe the calls about identities, entitlements and separation of duties."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.describe import Call, Id, When


def list_identities() -> Call[Page[answers.Identity]]:
    """List identities, ordered by last name, then first name."""
    return describe.get(Page[answers.Identity], "/api/identities")


def search_identities(
    text: str | None = None,
    *,
    whole: bool = False,
    status: str | None = None,
    type: str | None = None,
    department: str | None = None,
) -> Call[Page[answers.Identity]]:
    """Find people by a prefix of their names, by e-mail, employee ID or id, and by status, type and department.

    If `text` contains `@`, a prefix of an e-mail is enough. With `whole`, names and e-mails must match completely.
    Without filters, everyone whom the caller may see is listed.
    """
    given = {"q": text, "whole": "true" if whole else None, "status": status, "type": type, "department": department}
    return describe.get(Page[answers.Identity], "/api/identities/search", **given)


def get_identity(identity_id: Id) -> Call[answers.Identity]:
    """Get an identity."""
    return describe.get(answers.Identity, "/api/identities/{}", identity_id)


def get_access(identity_id: Id, *, as_of: When | int | None = None) -> Call[answers.EffectiveAccess]:
    """Get the access of an identity and the reasons for it, now or as of a time or an import."""
    return describe.get(answers.EffectiveAccess, "/api/identities/{}/access", identity_id, as_of=as_of)


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
) -> Call[answers.PastPage[answers.Entitlement]]:
    """List groups and permissions of all applications, ordered by name, now or as of a time or an import."""
    return describe.get(
        answers.PastPage[answers.Entitlement],
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
    """Get a group or a permission."""
    return describe.get(answers.EntitlementDetail, "/api/entitlements/{}", entitlement_id)


def curate_entitlement(entitlement_id: Id, **changes: Unpack[EntitlementChanges]) -> Call[answers.EntitlementDetail]:
    """Change the curated fields of an entitlement, such as explanation, owner and risk; "" clears a field."""
    return describe.call("PATCH", answers.EntitlementDetail, "/api/entitlements/{}", entitlement_id, body=changes)


def list_holders(entitlement_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Holding]]:
    """List who holds an entitlement, directly or through groups, and why; now or as of a time or an import."""
    return describe.get(Page[answers.Holding], "/api/entitlements/{}/holders", entitlement_id, as_of=as_of)


def list_holder_history(entitlement_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Holding]]:
    """List who has ever held an entitlement and when, newest first; with `as_of`, only up to that time or import."""
    return describe.get(Page[answers.Holding], "/api/entitlements/{}/history", entitlement_id, as_of=as_of)


class DutyFields(TypedDict, total=False):
    description: str
    patterns: Sequence[Json]


class DutyChanges(DutyFields, total=False):
    name: str


class DutyRuleFields(TypedDict, total=False):
    description: str
    risk: str
    response: str
    owner_id: Id | None
    without: Id | None
    enabled: bool


class DutyRuleChanges(DutyRuleFields, total=False):
    name: str
    conflicts: Sequence[Id]


def list_duties() -> Call[Page[answers.DutyItem]]:
    """List duties, ordered by name, with how many entitlements they match and how many people hold them."""
    return describe.get(Page[answers.DutyItem], "/api/duties")


def get_duty(duty_id: Id) -> Call[answers.Duty]:
    """Get a duty, with the number of entitlements that each pattern matches and the rules that use the duty."""
    return describe.get(answers.Duty, "/api/duties/{}", duty_id)


def create_duty(name: str, **fields: Unpack[DutyFields]) -> Call[answers.Duty]:
    """Create a duty, defined by patterns that match entitlements."""
    return describe.call("POST", answers.Duty, "/api/duties", body={"name": name, **fields})


def change_duty(duty_id: Id, **fields: Unpack[DutyChanges]) -> Call[answers.Duty]:
    """Change the given fields of a duty; its conflicts are updated at once."""
    return describe.call("PATCH", answers.Duty, "/api/duties/{}", duty_id, body=fields)


def simulate_duty(duty_id: Id, **fields: Unpack[DutyChanges]) -> Call[answers.DutySimulation]:
    """Simulate a change of a duty: how many conflicts of each rule would begin, end and remain."""
    return describe.call("POST", answers.DutySimulation, "/api/duties/{}/simulate", duty_id, body=fields)


def delete_duty(duty_id: Id) -> Call[None]:
    """Delete a duty; this fails if a rule or a past conflict refers to it."""
    return describe.call("DELETE", type(None), "/api/duties/{}", duty_id)


def list_duty_holders(duty_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.DutyHolder]]:
    """List who holds a duty, ordered by name, with the access that gives it, now or as of a time or an import."""
    return describe.get(Page[answers.DutyHolder], "/api/duties/{}/holders", duty_id, as_of=as_of)


def list_duty_rules() -> Call[Page[answers.DutyRuleItem]]:
    """List rules, ordered by name, with the counts of their open and excepted conflicts."""
    return describe.get(Page[answers.DutyRuleItem], "/api/duty-rules")


def get_duty_rule(rule_id: Id) -> Call[answers.DutyRule]:
    """Get a rule: its committed version and its draft."""
    return describe.get(answers.DutyRule, "/api/duty-rules/{}", rule_id)


def create_duty_rule(name: str, *, conflicts: Sequence[Id], **fields: Unpack[DutyRuleFields]) -> Call[answers.DutyRule]:
    """Create a draft of a rule that keeps duties apart; it takes effect when it is committed."""
    return describe.call(
        "POST", answers.DutyRule, "/api/duty-rules", body={"name": name, "conflicts": conflicts, **fields}
    )


def change_duty_rule(rule_id: Id, **fields: Unpack[DutyRuleChanges]) -> Call[answers.DutyRule]:
    """Change the given fields in the draft of a rule."""
    return describe.call("PATCH", answers.DutyRule, "/api/duty-rules/{}", rule_id, body=fields)


def simulate_duty_rule(rule_id: Id, *, page: int = 1) -> Call[answers.RuleSimulation]:
    """Simulate committing the draft: who would be in conflict, since when and through which access."""
    return describe.post(answers.RuleSimulation, "/api/duty-rules/{}/simulate", rule_id, page=page)


def commit_duty_rule(rule_id: Id) -> Call[answers.DutyRule]:
    """Commit the draft as the next version; it takes effect at once."""
    return describe.post(answers.DutyRule, "/api/duty-rules/{}/commit", rule_id)


def list_conflicts(
    *,
    status: str | None = None,
    rule_id: Id | None = None,
    identity_id: Id | None = None,
    as_of: When | int | None = None,
) -> Call[Page[answers.ConflictItem]]:
    """List conflicts, newest first: current and ended ones, or those as of a time or an import."""
    return describe.get(
        Page[answers.ConflictItem],
        "/api/conflicts",
        status=status,
        rule_id=rule_id,
        identity_id=identity_id,
        as_of=as_of,
    )


def get_conflict(conflict_id: Id) -> Call[answers.ConflictDetail]:
    """Get a conflict with the access on each side."""
    return describe.get(answers.ConflictDetail, "/api/conflicts/{}", conflict_id)


def list_conflict_exceptions(*, status: str | None = None) -> Call[Page[answers.ConflictException]]:
    """List exceptions with their controls and approvals, newest first."""
    return describe.get(Page[answers.ConflictException], "/api/conflicts/exceptions", status=status)


def request_exception(
    conflict_id: Id, *, reason: str, control: str, control_owner_id: Id, until: When
) -> Call[answers.ConflictDetail]:
    """Request an exception for a conflict until a date, under a compensating control."""
    return describe.post(
        answers.ConflictDetail,
        "/api/conflicts/{}/except",
        conflict_id,
        reason=reason,
        control=control,
        control_owner_id=control_owner_id,
        until=until,
    )


def approve_exception(
    conflict_id: Id, *, approver_id: Id | None = None, stand_in_id: Id | None = None, comment: str | None = None
) -> Call[answers.ConflictDetail]:
    """Approve the requested exception, as one of the two people who must approve it.

    `stand_in_id` is the person who approved in place of `approver_id`.
    """
    return describe.post(
        answers.ConflictDetail,
        "/api/conflicts/{}/approve",
        conflict_id,
        approver_id=approver_id,
        stand_in_id=stand_in_id,
        comment=comment,
    )


def withdraw_exception(conflict_id: Id, *, comment: str | None = None) -> Call[answers.ConflictDetail]:
    """Withdraw or reject the requested exception; if there is none, end the one in force."""
    return describe.post(answers.ConflictDetail, "/api/conflicts/{}/withdraw", conflict_id, comment=comment)
