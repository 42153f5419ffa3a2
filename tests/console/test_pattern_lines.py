"""Test the conversion of patterns of duties to lines of a form and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall.accounts.model import Access
from rolecall.console.pattern_lines import line_of_pattern, pattern_in
from rolecall.duties.model import Pattern
from rolecall.duties.shapes import PatternBody

_WORDS = st.lists(
    st.sampled_from(["Group", "group", "permission", "Role:", "Admin", "=", "/", '"', "\\", "*", "a/b", "Grant", ":"]),
    min_size=1,
    max_size=5,
)
_NAME = _WORDS.map(" ".join)
_OPTIONAL = st.none() | _NAME
_LEVELS = st.sampled_from([Access.GRANT, Access.MODIFY, Access.UNRESTRICTED])
_PERMISSIONS = st.builds(
    Pattern, application=_NAME, header=_OPTIONAL, section=_OPTIONAL, permission=_OPTIONAL, access=_LEVELS
).filter(lambda one: bool(one.header or one.section or one.permission))


def read(line: str) -> Pattern:
    return PatternBody.model_validate(pattern_in(line)).pattern


@given(_PERMISSIONS | st.builds(Pattern, application=_NAME, group=_NAME))
def test_pattern_survives_a_round_trip(pattern: Pattern) -> None:
    assert read(line_of_pattern(pattern)) == pattern


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Core: group Wire approvers", {"application": "Core", "group": "Wire approvers"}),
        ("group Wire approvers", {"group": "Wire approvers"}),
        ("Core: Wires / Approve*", {"application": "Core", "header": "Wires", "permission": "Approve*"}),
        ("permission Group policy", {"permission": "Group policy"}),
        ("permission Role: Admin = Modify", {"permission": "Role: Admin", "access": "Modify"}),
        ('Core: permission "Read / write"', {"application": "Core", "permission": "Read / write"}),
        ("Wires / Domestic / Approve", {"header": "Wires", "section": "Domestic", "permission": "Approve"}),
        ('5" disks', {"permission": '5" disks'}),
    ],
)
def test_line_is_parsed(line: str, expected: dict[str, Any]) -> None:
    assert pattern_in(line) == expected


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (Pattern("Core", group="Wire approvers"), "Core: group Wire approvers"),
        (Pattern(permission="Group policy"), "*: permission Group policy"),
        (Pattern("Core", header="Wires", permission="Approve", access=Access.MODIFY),
         "Core: permission Wires / Approve = Modify"),
        (Pattern("Core", section="Domestic"), "Core: permission / Domestic /"),
    ],
)  # fmt: skip
def test_line_contains_application_kind_and_parts(pattern: Pattern, line: str) -> None:
    assert line_of_pattern(pattern) == line
