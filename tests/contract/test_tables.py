"""Test the contract check itself: it must detect added, missing, moved and mistyped fields."""

from typing import Any

import pytest

from tests.contract.tables import APPLICATION_SUMMARY, IMPORT_ITEM, TIME, mismatches

APPLICATION: dict[str, Any] = {
    "id": "0192e4a0-7c1e-7000-8000-000000000001",
    "kind": "Application",
    "name": "Payroll",
    "priority": "High",
    "isArchived": False,
    "lastUpdated": "2026-12-01T00:00:00Z",
}
IMPORT: dict[str, Any] = {
    "id": "0192e4a0-7c1e-7000-8000-000000000001",
    "kind": "Application Import",
    "number": 1,
    "type": "API",
    "status": "Pending",
    "buildStart": None,
    "buildEnd": None,
    "application": APPLICATION,
}


def test_exact_value_has_no_mismatch() -> None:
    assert mismatches(APPLICATION, APPLICATION_SUMMARY) == []
    assert mismatches(IMPORT, IMPORT_ITEM) == []


@pytest.mark.parametrize(
    "changed",
    [
        {**APPLICATION, "extra": 1},
        {name: value for name, value in APPLICATION.items() if name != "name"},
        dict(reversed(APPLICATION.items())),
        {**APPLICATION, "id": "1"},
        {**APPLICATION, "id": APPLICATION["id"].upper()},
        {**APPLICATION, "kind": "Identity"},
        {**APPLICATION, "name": None},
        {**APPLICATION, "priority": "high"},
        {**APPLICATION, "isArchived": 0},
        {**APPLICATION, "lastUpdated": "2026-12-01"},
        {**APPLICATION, "lastUpdated": "2026-12-01T00:00:00+00:00"},
        [APPLICATION],
    ],
)
def test_mismatch_is_found_at_any_depth(changed: Any) -> None:
    assert mismatches(changed, APPLICATION_SUMMARY) != []
    assert mismatches({**IMPORT, "application": changed}, IMPORT_ITEM) != []


def test_number_is_neither_boolean_nor_text() -> None:
    assert mismatches({**IMPORT, "number": True}, IMPORT_ITEM) != []
    assert mismatches({**IMPORT, "number": "1"}, IMPORT_ITEM) != []


def test_time_has_six_digits_of_a_second_or_none() -> None:
    assert TIME("2026-12-01T00:00:00.000001Z")
    assert not TIME("2026-12-01T00:00:00.000000Z")
    assert not TIME("2026-12-01T00:00:00.1Z")
