"""Test who may apply a verb to a personnel event."""

from typing import Any
from uuid import UUID

import pytest

from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db
from rolecall.core.errors import Conflict
from rolecall.personnel_events import actions
from rolecall.personnel_events.permitted import (
    OWN_LEAVE,
    OWN_SUPERVISION,
    REPORTED_BY_OTHERS,
    EventVerb,
    refusal,
)
from tests.builders import a_token, an_identity, facts
from tests.personnel_events.bodies import day
from tests.stand_ins.standing_in import CLERK, a_leave

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
def test_affected_person_cannot_cancel_events_reported_by_others_or_set_the_return_date(
    verb: EventVerb, reporter: UUID, reason: str | None
) -> None:
    assert refusal(verb, ME, identity_id=ME, reporter_id=reporter) == reason


async def transition(db: Db, people: dict[str, UUID], moved: str, changes: dict[str, Any], *scopes: Scope) -> None:
    """Let Ada plan a role transition; people in `changes` are named by their keys in `people`."""
    identity = {field: str(people.get(value, value)) for field, value in changes.items()}
    raw = {"identityId": str(people[moved]), "effectiveDate": day(0), "identity": identity}
    caller = Caller(people["ada"], "Ada Lovelace", frozenset({Scope.PERSONNEL_EVENTS_WRITE, *scopes}))
    await actions.transition_role(db, caller, raw, facts())


async def test_caller_cannot_become_a_supervisor_or_change_their_own_supervisor(db: Db) -> None:
    people = {name: await an_identity(db, name) for name in ("ada", "bo", "eve")}

    for moved, supervisor in (("ada", "bo"), ("ada", ""), ("bo", "ada")):
        with pytest.raises(Conflict, match=OWN_SUPERVISION):
            await transition(db, people, moved, {"supervisorId": supervisor})

    await transition(db, people, "bo", {"supervisorId": "eve"})
    await transition(db, people, "ada", {"title": "Analyst"})
    await transition(db, people, "ada", {"supervisorId": "bo"}, Scope.IDENTITIES_WRITE)
    await transition(db, people, "bo", {"supervisorId": "ada"}, Scope.IDENTITIES_WRITE)


async def test_token_cannot_do_to_an_event_what_its_owner_may_not(db: Db) -> None:
    ada, bo = await an_identity(db, "ada"), await an_identity(db, "bo")
    token = Caller((await a_token(db, owner=ada)).id, "token", frozenset({Scope.PERSONNEL_EVENTS_WRITE}))
    await a_token(db, "another administrator", owner=bo)
    leave = await a_leave(db, ada, endDate=day(9))
    leaving = await actions.offboard(db, CLERK, {"identityId": str(ada), "effectiveDate": day(20)}, facts())
    own = await actions.begin_absence(db, token, {"identityId": str(ada), "effectiveDate": day(30)}, facts())

    with pytest.raises(Conflict, match=OWN_LEAVE):
        await actions.set_return_date(db, token, leave, {"endDate": day(3)}, facts())
    for event in (leave, leaving):
        with pytest.raises(Conflict, match=REPORTED_BY_OTHERS):
            await actions.cancel_event(db, token, event, {}, facts())
    with pytest.raises(Conflict, match=OWN_SUPERVISION):
        await transition(db, {"ada": token.id, "owner": ada, "bo": bo}, "bo", {"supervisorId": "owner"})
    await actions.cancel_event(db, token, own, {}, facts())
