"""Test who may apply a verb to a personnel event."""

from uuid import UUID

import pytest

from rolecall.personnel_events.permitted import OWN_LEAVE, REPORTED_BY_OTHERS, EventVerb, refusal

ME, OTHER = UUID(int=1), UUID(int=2)


@pytest.mark.parametrize("verb", EventVerb)
def test_event_of_another_person_allows_every_verb(verb: EventVerb) -> None:
    assert refusal(verb, ME, identity_id=OTHER, reporter_id=OTHER) is None


@pytest.mark.parametrize(
    ("verb", "reporter", "reason"),
    [
        (EventVerb.CANCEL, OTHER, REPORTED_BY_OTHERS),
        (EventVerb.CANCEL, ME, None),
        (EventVerb.RETURN_DATE, OTHER, OWN_LEAVE),
        (EventVerb.RETURN_DATE, ME, OWN_LEAVE),
        (EventVerb.ASSIGN, OTHER, None),
        (EventVerb.COMMENT, OTHER, None),
    ],
)
def test_affected_person_cannot_cancel_events_of_others_or_set_own_return_date(
    verb: EventVerb, reporter: UUID, reason: str | None
) -> None:
    assert refusal(verb, ME, identity_id=ME, reporter_id=reporter) == reason
