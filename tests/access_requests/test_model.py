"""Test which requests give or raise access, and how risky a request is."""

from typing import Any

import pytest

from rolecall.access_requests.model import NewPrivilege, NewRequest, RelatedItem, gives_access, raises
from rolecall.accounts.model import Access
from rolecall.core.ids import new_id
from rolecall.settings.policy import EventType, Level, RequestAction

ORDER = ["None", "Grant", "Modify", "Unrestricted"]


def a_request(action: str, *privileges: NewPrivilege, **fields: Any) -> NewRequest:
    return NewRequest(action=RequestAction(action), application_id=new_id(), privileges=privileges, **fields)


def asking(access: str, held: str | None = None, risk: Level | None = None) -> NewPrivilege:
    initial = None if held is None else Access(held)
    return NewPrivilege(
        header="Books", permission="Close", requested_access=Access(access), initial_access=initial, risk_rating=risk
    )


@pytest.mark.parametrize(
    ("action", "accesses", "expected"),
    [
        ("Add", [], True),
        ("Add", ["None"], True),
        ("Restore", ["Grant"], True),
        ("Change", ["None", "Deny"], False),
        ("Change", ["None", "Grant"], True),
        ("Change", [], False),
        ("Remove", ["Grant"], False),
        ("Suspend", ["Grant"], False),
    ],
)
def test_action_and_level_decide_whether_a_request_gives_access(
    action: str, accesses: list[str], expected: bool
) -> None:
    assert gives_access(action, accesses) is expected


def test_requesting_more_than_is_held_raises_access() -> None:
    raised = {(held, asked) for held in Access for asked in Access if raises(held, asked)}

    higher = {(held, asked) for n, held in enumerate(ORDER) for asked in ORDER[n + 1 :]}
    assert raised == higher | {("Deny", asked) for asked in ORDER}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (a_request("Add", asking("None")), True),
        (a_request("Restore"), True),
        (a_request("Change", asking("Grant", "Modify"), asking("Modify", "Grant")), True),
        (a_request("Change", asking("Grant", "Modify"), asking("Grant", "Grant")), False),
        (a_request("Change", asking("Grant")), True),
        (a_request("Change", asking("None")), False),
        (a_request("Remove", asking("Unrestricted", "None")), False),
        (a_request("Suspend", asking("Unrestricted", "None")), False),
    ],
)
def test_action_and_privileges_decide_whether_a_request_raises_access(new: NewRequest, expected: bool) -> None:
    assert new.raises_access() is expected


@pytest.mark.parametrize(
    ("event_type", "expected"), [(EventType.ABSENCE, False), (EventType.ROLE_TRANSITION, True), (None, True)]
)
def test_only_the_end_of_a_leave_restores_without_approval(event_type: EventType | None, expected: bool) -> None:
    related = RelatedItem(id=new_id(), kind="Personnel Event", number=1, status="Open", event_type=event_type)

    assert a_request("Restore", related=related).raises_access() is expected


@pytest.mark.parametrize(
    ("risks", "expected"),
    [
        ([Level.LOW, Level.CRITICAL, Level.HIGH], Level.CRITICAL),
        ([Level.LOW, None], Level.LOW),
        ([None], Level.NONE),
        ([Level.MODERATE, Level.LOW], Level.MODERATE),
        ([], Level.HIGH),
    ],
)
def test_request_is_as_risky_as_its_riskiest_privilege(risks: list[Level | None], expected: Level) -> None:
    new = a_request("Add", *(asking("Grant", risk=risk) for risk in risks), target_risk=Level.HIGH)

    assert new.risk() is expected
