"""Calls about stand ins."""

from rolecall.client import answers
from rolecall.client.answers import Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id, When


def list_stand_ins(*, identity_id: Id | None = None, stand_in_id: Id | None = None) -> Call[Page[answers.StandIn]]:
    """List stand-ins that were named, newest first."""
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
    """Name the person who responds for you, or for another person, for a time."""
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
