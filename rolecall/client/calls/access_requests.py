"""Calls about access requests."""

from collections.abc import Sequence
from typing import TypedDict

from rolecall.client import answers
from rolecall.client.answers import Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id, When


class Access(TypedDict, total=False):
    """A permission by its names, and the level of access."""

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
    """List requests that wait for people: for whom, how long and why."""
    return describe.get(Page[answers.StalledRequest], "/api/access-requests/stalled")


def list_leftovers() -> Call[Page[answers.Leftover]]:
    """List active accounts of leavers without an open Remove request."""
    return describe.get(Page[answers.Leftover], "/api/access-requests/leftovers")


def get_request(request_id: Id) -> Call[answers.AccessRequest]:
    """Show an access request with its privileges, requirements, activity and comments."""
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


def get_request_conflicts(request_id: Id) -> Call[answers.RequestConflicts]:
    """Show the conflicts of duties that an access request would create."""
    return describe.get(answers.RequestConflicts, "/api/access-requests/{}/conflicts", request_id)


def respond(
    request_id: Id,
    response: str,
    *,
    type: str = "Approve",
    reviewer_id: Id | None = None,
    approved_access: Sequence[Access] | None = None,
    comment: str | None = None,
) -> Call[answers.AccessRequest]:
    """Record a reviewer's response, Approved or Rejected, to a requirement of type Approve, Resolve or Verify."""
    return describe.post(
        answers.AccessRequest,
        "/api/access-requests/{}/respond",
        request_id,
        type=type,
        response=response,
        reviewer_id=reviewer_id,
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
