"""Test that access in JSON objects is read whole: no member hides another, and secrets are not read."""

import json
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.cell_lists import unread_members, values_of
from rolecall.application_imports.read.keyed_values import keyed_values, object_in, unread_in
from rolecall.applications.file_shape import JSON
from tests.application_imports.reading import read_file


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"role": "admin", "billing": "write"}, ["role: admin", "billing: write"]),
        ({"level": "read", "billing": ["viewer"]}, ["level: read", "billing: viewer"]),
        ({"name": "viewer", "billing": ["viewer"]}, ["name: viewer", "billing: viewer"]),
        ({"Mercury": {"role": "admin", "billing": "write"}}, ["Mercury: admin", "Mercury: billing: write"]),
        ({"Mercury": {"role": "none", "wiki": True}}, ["Mercury: wiki"]),
        ({"crm": {"group": "Sales", "role": "Agent"}}, ["crm: Sales", "crm: Agent"]),
        ({"crm": [{"name": "Berlin", "role": "Clerk"}, {"name": "Rome", "role": "none"}]}, ["crm: Berlin: Clerk"]),
        ({"crm": {"name": "Berlin", "access": True}, "erp": {"name": "Rome", "access": False}}, ["crm: Berlin"]),
        ({"Ops": [{"read": True, "write": False}]}, ["Ops: read"]),
    ],
)
def test_no_member_hides_other_access(value: Any, names: list[str]) -> None:
    assert keyed_values(value) == names


@pytest.mark.parametrize(
    ("value", "names", "unread"),
    [
        ({"id": 7, "name": "Agent", "description": "Calls"}, ["Agent"], [{"id": 7, "description": "Calls"}]),
        ({"id": 7, "name": "Agent", "billing": "write"}, ["Agent"], [{"id": 7, "billing": "write"}]),
        ({"crm": [{"name": "Agent", "active": False}]}, ["crm: Agent"], [{"active": False}]),
        ({"crm": {"role": "Agent", "since": "2020-01-01"}}, ["crm: Agent"], [{"since": "2020-01-01"}]),
        ({"crm": [{"name": "Agent", "permissions": ["call"]}]}, ["crm: Agent"], [{"permissions": ["call"]}]),
    ],
)
def test_members_that_are_not_read_are_returned(value: Any, names: list[str], unread: list[Any]) -> None:
    assert keyed_values(value) == names
    assert unread_in(value) == unread


@pytest.mark.parametrize(
    "value",
    [
        {"billing": ["viewer"], "password": "Hunter2!"},
        {"billing": ["viewer"], "password": {"bcrypt": "$2b$10$Hunter2!"}},
        {"billing": ["viewer"], "apiTokens": ["Hunter2!"]},
        {"billing": {"role": "viewer", "apiToken": "Hunter2!"}},
        {"billing": [{"name": "viewer", "secret": {"value": "Hunter2!"}}]},
    ],
)
def test_secrets_are_not_read(value: Any) -> None:
    assert keyed_values(value) == ["billing: viewer"]
    assert "Hunter2!" not in str(unread_in(value))


def test_name_of_a_group_may_contain_a_word_for_secrets() -> None:
    assert keyed_values({"Password Reset": True, "Token Desk": False}) == ["Password Reset"]


@pytest.mark.parametrize("word", ["disabled", "Blocked", "inactive", "REVOKED", "no access", "none", "denied", ""])
def test_words_for_no_access_in_place_of_a_level_are_not_read(word: str) -> None:
    assert keyed_values({"crm": word, "erp": {"role": word}, "wiki": "reader"}) == ["wiki: reader"]


def test_sign_between_names_does_not_occur_inside_them() -> None:
    assert keyed_values({"Sales: EU": ["ada"]}) == ["Sales:EU: ada"]


def test_repeated_name_keeps_all_its_values() -> None:
    found = object_in('{"billing": ["viewer"], "billing": ["admin"], "crm": "agent"}')

    assert found
    assert keyed_values(found) == ["billing: viewer", "billing: admin", "crm: agent"]


@pytest.mark.parametrize(
    ("cell", "values", "unread"),
    [
        ('[{"id": 1, "name": "Agent", "active": false}, {"id": 2}]', ["Agent", "2"], ["id", "active"]),
        ('[{"code": "A1", "note": "x"}]', ["A1"], ["note"]),
        ('[{"note": "x"}]', ["note: x"], []),
        ('["a", 5, null, " "]', ["a", "5"], []),
    ],
)
def test_lists_of_objects_are_read_by_name(cell: str, values: list[str], unread: list[str]) -> None:
    cells = pl.Series([cell])

    assert values_of(cells, JSON).to_list() == [values]
    assert unread_members(cells) == unread


def test_log_names_members_that_are_not_read(tmp_path: Path) -> None:
    cell = json.dumps([{"name": "Agent", "active": False, "id": 7}]).replace('"', '""')
    columns, shape = {"Username": "Username", "roles": "Group"}, {"split": {"roles": "json"}}

    found = read_file(tmp_path, f'Username,roles\nada,"{cell}"\n', "memberships", columns=columns, shape=shape)

    assert found.memberships == {("ada", "Agent")}
    assert "file.csv: roles has objects; their members active are not read" in found.notes


def _document(tmp_path: Path, text: str) -> Any:
    columns, shape = {"key": "Username", "access": "Group"}, {"records": "$.*", "split": {"access": "json"}}
    return read_file(tmp_path, text, "memberships", columns=columns, shape=shape)


def test_repeated_name_in_a_document_keeps_all_its_values(tmp_path: Path) -> None:
    found = _document(tmp_path, '{"ada": ["viewer"], "ada": ["admin"], "bob": false, "cy": {"crm": 40}}')

    assert found.memberships == {("ada", "viewer"), ("ada", "admin"), ("cy", "crm: 40")}


def test_true_in_place_of_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BrokenFile, match="the value of bob is true; expected names of access"):
        _document(tmp_path, '{"ada": ["viewer"], "bob": true}')


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ({"name": "Agent", "isRoleAdmin": False, "level": 0}, ["Agent"]),
        ({"name": "Agent", "roleId": 7, "role_type": "none"}, ["Agent"]),
        ({"name": "billing", "access_level": 40}, ["billing: 40"]),
        ({"name": "billing", "access_level": 0}, []),
    ],
)
def test_members_about_a_thing_are_not_its_level(entry: Any, names: list[str]) -> None:
    assert keyed_values([entry]) == names


_NAMES = [
    "id",
    "name",
    "role",
    "level",
    "access",
    "billing",
    "crm",
    "roles",
    "since",
    "active",
    "type",
    "display",
    "value",
]
_TEXTS = ["admin", "Agent", "read", "x7", "EU"]


def _random_object(random: Random, depth: int = 3) -> dict[str, Any]:
    return {name: _random_value(random, depth) for name in random.sample(_NAMES, random.randint(1, 4))}


def _random_value(random: Random, depth: int) -> Any:
    text = f"{random.choice(_TEXTS)} {random.randrange(1000)}"
    values = [text, [text], True]
    if depth:
        values += [_random_object(random, depth - 1), [_random_object(random, depth - 1), text]]
    return random.choice(values)


def _texts_in(value: Any) -> set[str]:
    if isinstance(value, dict | list):
        return {text for each in (value.values() if isinstance(value, dict) else value) for text in _texts_in(each)}
    return {value} if isinstance(value, str) else set()


@pytest.mark.parametrize("seed", range(20))
def test_every_text_is_read_or_returned_as_unread(seed: int) -> None:
    random = Random(seed)
    for value in (_random_object(random) for _ in range(50)):
        read = {part for each in keyed_values(value) for part in each.split(": ")}

        assert _texts_in(value) <= read | _texts_in(unread_in(value))
