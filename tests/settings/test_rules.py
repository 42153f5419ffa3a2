"""Test which requests a rule of the approval policy applies to."""

from typing import Any

import pytest

from rolecall.settings.policy import (
    DEFAULT_POLICY,
    ApprovalRule,
    EventType,
    Level,
    RequestAction,
    RequirementType,
    Responder,
)

CHANGE: dict[str, Any] = {
    "action": "Change",
    "raises": False,
    "event_type": None,
    "priority": "Low",
    "risk": "Low",
}


def a_rule(type: RequirementType = RequirementType.APPROVE, **conditions: Any) -> ApprovalRule:
    return ApprovalRule(type, "Because", Responder.OWNER, **conditions)


def test_rule_without_conditions_applies_to_everything() -> None:
    assert a_rule().applies(**CHANGE)


@pytest.mark.parametrize(
    ("condition", "value", "other", "field"),
    [
        ("actions", RequestAction.CHANGE, RequestAction.REMOVE, "action"),
        ("event_types", EventType.ABSENCE, EventType.ONBOARD, "event_type"),
        ("priorities", Level.HIGH, Level.LOW, "priority"),
        ("risks", Level.HIGH, Level.LOW, "risk"),
    ],
)
def test_rule_applies_if_its_condition_holds(condition: str, value: Any, other: Any, field: str) -> None:
    conditions: dict[str, Any] = {condition: [value]}
    rule = a_rule(**conditions)

    assert rule.applies(**CHANGE | {field: value})
    assert not rule.applies(**CHANGE | {field: other})


def test_every_condition_must_hold() -> None:
    rule = a_rule(actions=[RequestAction.CHANGE], risks=[Level.HIGH])

    assert rule.applies(**CHANGE | {"risk": "High"})
    assert not rule.applies(**CHANGE)
    assert not rule.applies(**CHANGE | {"risk": "High", "action": "Remove"})


@pytest.mark.parametrize(
    ("type", "actions", "raises", "applies"),
    [
        (RequirementType.APPROVE, [RequestAction.ADD], True, True),
        (RequirementType.APPROVE, [RequestAction.ADD], False, False),
        (RequirementType.APPROVE, [RequestAction.REMOVE], True, False),
        (RequirementType.VERIFY, [RequestAction.ADD], True, False),
    ],
)
def test_request_that_raises_access_needs_the_approvals_of_an_add(
    type: RequirementType, actions: list[RequestAction], raises: bool, applies: bool
) -> None:
    assert a_rule(type, actions=actions).applies(**CHANGE | {"raises": raises}) is applies


@pytest.mark.parametrize(
    ("facts", "applied"),
    [
        ({"action": "Add"}, [0, 2]),
        ({"action": "Change"}, [0, 2]),
        ({"action": "Remove"}, [2]),
        ({"action": "Add", "risk": "High"}, [0, 1, 2]),
        ({"action": "Change", "risk": "Critical"}, [0, 1, 2]),
        ({"action": "Remove", "risk": "Critical", "priority": "High"}, [2, 3]),
        ({"action": "Remove", "risk": "Moderate", "priority": "Critical"}, [2, 3]),
        ({"action": "Add", "risk": "Moderate", "priority": "Moderate"}, [0, 2]),
    ],
)
def test_default_policy_applies_the_expected_rules(facts: dict[str, str], applied: list[int]) -> None:
    assert [n for n, rule in enumerate(DEFAULT_POLICY) if rule.applies(**CHANGE | facts)] == applied
