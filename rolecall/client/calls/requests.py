"""Describe the calls about access requests, personnel events, access models and stand-ins."""

from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.describe import Call, Id, When


class Access(TypedDict, total=False):
    """A permission and the level of access to it."""

    header: str
    section: str
    permission: str
    access: str


def list_requests(
    *,
    identity_id: Id | None = None,
    application_id: Id | None = None,
    status: str | None = None,
    type: str | None = None,
) -> Call[Page[answers.AccessRequestItem]]:
    """List access requests, newest first."""
    return describe.get(
        Page[answers.AccessRequestItem],
        "/api/access-requests",
        identity_id=identity_id,
        application_id=application_id,
        status=status,
        type=type,
    )


def list_stalled_requests() -> Call[Page[answers.StalledRequest]]:
    """List requests that wait for people, with reviewers, waiting time and reasons, longest wait first."""
    return describe.get(Page[answers.StalledRequest], "/api/access-requests/stalled")


def list_leftovers() -> Call[Page[answers.Leftover]]:
    """List active accounts of leavers that no open Remove request covers."""
    return describe.get(Page[answers.Leftover], "/api/access-requests/leftovers")


def get_request(request_id: Id) -> Call[answers.AccessRequest]:
    """Get an access request with its privileges, requirements, activity and comments."""
    return describe.get(answers.AccessRequest, "/api/access-requests/{}", request_id)


def create_request(
    action: str,
    application_id: Id,
    *,
    identity_id: Id | None = None,
    group: str | None = None,
    target_name: str | None = None,
    privileges: Sequence[Access] | None = None,
    scheduled_start: When | None = None,
    comment: str | None = None,
) -> Call[answers.AccessRequest]:
    """Request to Add, Change, Remove, Suspend or Restore access of an identity or a group."""
    return describe.post(
        answers.AccessRequest,
        "/api/access-requests",
        action=action,
        application_id=application_id,
        identity_id=identity_id,
        group=group,
        target_name=target_name,
        privileges=privileges,
        scheduled_start=scheduled_start,
        comment=comment,
    )


def preview_request(
    action: str,
    application_id: Id,
    *,
    identity_id: Id | None = None,
    group: str | None = None,
    target_name: str | None = None,
    privileges: Sequence[Access] | None = None,
) -> Call[answers.RequestConflicts]:
    """Preview the conflicts that a request would create between duties, without creating the request."""
    return describe.post(
        answers.RequestConflicts,
        "/api/access-requests/preview",
        action=action,
        application_id=application_id,
        identity_id=identity_id,
        group=group,
        target_name=target_name,
        privileges=privileges,
    )


def get_request_conflicts(request_id: Id) -> Call[answers.RequestConflicts]:
    """List the conflicts that an access request would create between duties, as found at its last check."""
    return describe.get(answers.RequestConflicts, "/api/access-requests/{}/conflicts", request_id)


def respond(
    request_id: Id,
    response: str,
    *,
    type: str = "Approve",
    reviewer_id: Id | None = None,
    stand_in_id: Id | None = None,
    approved_access: Sequence[Access] | None = None,
    comment: str | None = None,
) -> Call[answers.AccessRequest]:
    """Record a reviewer's response, Approved or Rejected, to a requirement of type Approve, Resolve or Verify.

    `stand_in_id` is the person who responded in place of the reviewer.
    """
    return describe.post(
        answers.AccessRequest,
        "/api/access-requests/{}/respond",
        request_id,
        type=type,
        response=response,
        reviewer_id=reviewer_id,
        stand_in_id=stand_in_id,
        approved_access=approved_access,
        comment=comment,
    )


def assign_request(request_id: Id, assignee_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Assign an access request to an identity."""
    return describe.post(
        answers.AccessRequest,
        "/api/access-requests/{}/assign",
        request_id,
        assignee_id=assignee_id,
        comment=comment,
    )


def resolve_request(request_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Mark the access as provisioned."""
    return describe.post(answers.AccessRequest, "/api/access-requests/{}/resolve", request_id, comment=comment)


def verify_request(request_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Mark the access as verified, which completes the request."""
    return describe.post(answers.AccessRequest, "/api/access-requests/{}/verify", request_id, comment=comment)


def reopen_request(request_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Reopen a resolved request for provisioning."""
    return describe.post(answers.AccessRequest, "/api/access-requests/{}/reopen", request_id, comment=comment)


def snooze_request(request_id: Id, until: When, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Snooze an open request until a time."""
    return describe.post(
        answers.AccessRequest, "/api/access-requests/{}/snooze", request_id, until=until, comment=comment
    )


def resume_request(request_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Resume a snoozed request."""
    return describe.post(answers.AccessRequest, "/api/access-requests/{}/resume", request_id, comment=comment)


def cancel_request(request_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Cancel an access request."""
    return describe.post(answers.AccessRequest, "/api/access-requests/{}/cancel", request_id, comment=comment)


def comment_on_request(request_id: Id, content: str) -> Call[answers.AccessRequest]:
    """Comment on an access request."""
    return describe.post(answers.AccessRequest, "/api/access-requests/{}/comment", request_id, content=content)


class IdentityFields(TypedDict, total=False):
    first_name: str
    last_name: str
    email: str
    supervisor_id: Id
    company: str
    division: str
    department: str
    office: str
    title: str
    identity_type: str
    custom_fields: Mapping[int, str]


def list_events(
    *, identity_id: Id | None = None, type: str | None = None, status: str | None = None
) -> Call[Page[answers.EventItem]]:
    """List personnel events, latest effective date first."""
    return describe.get(
        Page[answers.EventItem], "/api/personnel-events", identity_id=identity_id, type=type, status=status
    )


def get_event(event_id: Id) -> Call[answers.Event]:
    """Get a personnel event with its stages."""
    return describe.get(answers.Event, "/api/personnel-events/{}", event_id)


def onboard(
    *, effective_date: When, comment: str | None = None, **identity: Unpack[IdentityFields]
) -> Call[answers.Event]:
    """Create an onboarding event and the identity of the new person."""
    return describe.post(
        answers.Event,
        "/api/personnel-events/onboard",
        identity=_identity_body(identity),
        effective_date=effective_date,
        comment=comment,
    )


def offboard(identity_id: Id, *, effective_date: When, comment: str | None = None) -> Call[answers.Event]:
    """Create an offboarding event."""
    return describe.post(
        answers.Event,
        "/api/personnel-events/offboard",
        identity_id=identity_id,
        effective_date=effective_date,
        comment=comment,
    )


def transition_role(
    identity_id: Id,
    *,
    effective_date: When,
    end_date: When | None = None,
    comment: str | None = None,
    **identity: Unpack[IdentityFields],
) -> Call[answers.Event]:
    """Move a person to another role. With an end date, they keep the access of the old role until then."""
    return describe.post(
        answers.Event,
        "/api/personnel-events/role-transition",
        identity_id=identity_id,
        effective_date=effective_date,
        end_date=end_date,
        comment=comment,
        identity=_identity_body(identity) or None,
    )


def begin_absence(
    identity_id: Id, *, effective_date: When, end_date: When | None = None, comment: str | None = None
) -> Call[answers.Event]:
    """Create a leave of absence event."""
    return describe.post(
        answers.Event,
        "/api/personnel-events/leave-of-absence",
        identity_id=identity_id,
        effective_date=effective_date,
        end_date=end_date,
        comment=comment,
    )


def preview_event(
    type: str,
    *,
    identity_id: Id | None = None,
    effective_date: When,
    end_date: When | None = None,
    **identity: Unpack[IdentityFields],
) -> Call[answers.EventPreview]:
    """Preview the stages and requests of an event without storing anything."""
    return describe.post(
        answers.EventPreview,
        "/api/personnel-events/preview",
        type=type,
        identity_id=identity_id,
        effective_date=effective_date,
        end_date=end_date,
        identity=_identity_body(identity) or None,
    )


def assign_event(event_id: Id, assignee_id: Id) -> Call[answers.Event]:
    """Assign a personnel event to an identity."""
    return describe.post(answers.Event, "/api/personnel-events/{}/assign", event_id, assignee_id=assignee_id)


def set_return_date(event_id: Id, end_date: When) -> Call[answers.Event]:
    """Set the return date of a leave of absence whose Removal stage has not started."""
    return describe.post(answers.Event, "/api/personnel-events/{}/return-date", event_id, end_date=end_date)


def cancel_event(event_id: Id, *, comment: str | None = None) -> Call[answers.Event]:
    """Cancel a personnel event and its unfinished access requests. Changes that have taken effect stay."""
    return describe.post(answers.Event, "/api/personnel-events/{}/cancel", event_id, comment=comment)


def comment_on_event(event_id: Id, content: str) -> Call[answers.Event]:
    """Comment on a personnel event."""
    return describe.post(answers.Event, "/api/personnel-events/{}/comment", event_id, content=content)


def _identity_body(fields: IdentityFields) -> Json:
    plain = describe.camels({name: value for name, value in fields.items() if name != "custom_fields"})
    return plain | {f"customField{number}": value for number, value in fields.get("custom_fields", {}).items()}


class ModelFields(TypedDict, total=False):
    description: str
    owner_id: Id
    enabled: bool
    conditions: Sequence[Sequence[Json]]
    access: Sequence[Json]


class ModelChanges(ModelFields, total=False):
    name: str


def list_models() -> Call[Page[answers.AccessModelItem]]:
    """List access models, ordered by name."""
    return describe.get(Page[answers.AccessModelItem], "/api/access-models")


def get_model(model_id: Id) -> Call[answers.AccessModel]:
    """Get the committed version and the draft of an access model."""
    return describe.get(answers.AccessModel, "/api/access-models/{}", model_id)


def create_model(name: str, **fields: Unpack[ModelFields]) -> Call[answers.AccessModel]:
    """Create a draft of an access model; it takes effect when it is committed."""
    return describe.call("POST", answers.AccessModel, "/api/access-models", body={"name": name, **fields})


def change_model(model_id: Id, **fields: Unpack[ModelChanges]) -> Call[answers.AccessModel]:
    """Change the given fields in the draft of an access model."""
    return describe.call("PATCH", answers.AccessModel, "/api/access-models/{}", model_id, body=fields)


def list_members(model_id: Id) -> Call[Page[answers.Identity]]:
    """List the identities that the committed model matches, ordered by name."""
    return describe.get(Page[answers.Identity], "/api/access-models/{}/members", model_id)


def simulate_model(model_id: Id, *, page: int = 1) -> Call[answers.Simulation]:
    """Simulate committing the draft: who would gain or lose which access, and which conflicts would begin."""
    return describe.post(answers.Simulation, "/api/access-models/{}/simulate", model_id, page=page)


def commit_model(model_id: Id, *, allow_unknown: bool = False) -> Call[answers.AccessModel]:
    """Commit the draft as the next version; it takes effect at once.

    `allow_unknown` allows names of groups and permissions that the applications do not have.
    """
    return describe.post(answers.AccessModel, "/api/access-models/{}/commit", model_id, allow_unknown=allow_unknown)


def list_stand_ins(*, identity_id: Id | None = None, stand_in_id: Id | None = None) -> Call[Page[answers.StandIn]]:
    """List the stand-ins that people named, newest first."""
    return describe.get(Page[answers.StandIn], "/api/stand-ins", identity_id=identity_id, stand_in_id=stand_in_id)


def create_stand_in(
    stand_in_id: Id,
    *,
    ends_on: When,
    starts_on: When | None = None,
    identity_id: Id | None = None,
    type: str | None = None,
    comment: str | None = None,
) -> Call[answers.StandIn]:
    """Name a stand-in: a person who responds for you, or for another person, for a limited time."""
    return describe.post(
        answers.StandIn,
        "/api/stand-ins",
        stand_in_id=stand_in_id,
        ends_on=ends_on,
        starts_on=starts_on,
        identity_id=identity_id,
        type=type,
        comment=comment,
    )


def end_stand_in(id: Id) -> Call[None]:
    """End a stand-in now, or delete one that has not started."""
    return describe.call("DELETE", type(None), "/api/stand-ins/{}", id)
