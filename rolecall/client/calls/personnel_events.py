"""Calls about personnel events."""

from collections.abc import Mapping
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id, When


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
    """List personnel events by effective date, newest first."""
    return describe.get(
        Page[answers.EventItem], "/api/personnel-events", identity_id=identity_id, type=type, status=status
    )


def get_event(event_id: Id) -> Call[answers.Event]:
    """Show a personnel event with its stages."""
    return describe.get(answers.Event, "/api/personnel-events/{}", event_id)


def onboard(
    *, effective_date: When, comment: str | None = None, **identity: Unpack[IdentityFields]
) -> Call[answers.Event]:
    """Onboard a person."""
    return describe.post(
        answers.Event,
        "/api/personnel-events/onboard",
        identity=_identity(identity),
        effective_date=effective_date,
        comment=comment,
    )


def offboard(identity_id: Id, *, effective_date: When, comment: str | None = None) -> Call[answers.Event]:
    """Offboard a person."""
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
    """Move a person to another role; with an end date they keep the old role's access until then."""
    return describe.post(
        answers.Event,
        "/api/personnel-events/role-transition",
        identity_id=identity_id,
        effective_date=effective_date,
        end_date=end_date,
        comment=comment,
        identity=_identity(identity) or None,
    )


def begin_absence(
    identity_id: Id, *, effective_date: When, end_date: When | None = None, comment: str | None = None
) -> Call[answers.Event]:
    """Begin a leave of absence."""
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
        identity=_identity(identity) or None,
    )


def assign_event(event_id: Id, assignee_id: Id) -> Call[answers.Event]:
    """Assign a personnel event to an identity."""
    return describe.post(answers.Event, "/api/personnel-events/{}/assign", event_id, assignee_id=assignee_id)


def set_return_date(event_id: Id, end_date: When) -> Call[answers.Event]:
    """Set the end of a leave of absence."""
    return describe.post(answers.Event, "/api/personnel-events/{}/return-date", event_id, end_date=end_date)


def cancel_event(event_id: Id, *, comment: str | None = None) -> Call[answers.Event]:
    """Cancel a personnel event and its unfinished requests."""
    return describe.post(answers.Event, "/api/personnel-events/{}/cancel", event_id, comment=comment)


def comment_on_event(event_id: Id, content: str) -> Call[answers.Event]:
    """Comment on a personnel event."""
    return describe.post(answers.Event, "/api/personnel-events/{}/comment", event_id, content=content)


def _identity(fields: IdentityFields) -> Json:
    plain = describe.camels({name: value for name, value in fields.items() if name != "custom_fields"})
    return plain | {f"customField{number}": value for number, value in fields.get("custom_fields", {}).items()}
