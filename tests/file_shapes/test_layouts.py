"""Test that names, groups, locks and totals are found in unusual layouts, and that secrets are not kept."""

import json
from pathlib import Path

import pytest

from tests.application_imports.reading import read_file
from tests.file_shapes.test_export_files import FOLDER
from tests.file_shapes.test_exports import imported


@pytest.mark.parametrize(
    ("export", "field", "values"),
    [
        ("servicenow-user-has-role.json", "name", {"Beth Anglin", "David Loo", "Fred Luddy"}),
        ("ad-dsget-user.txt", "first_name", {"Max", "Sabine", "Lena", ""}),
        ("ad-dsget-user.txt", "last_name", {"Huber", "Vogt", "Keller", ""}),
        (
            "rocketchat-users.json",
            "email",
            {"", "petra.lang@acme.example", "tom.reyes@acme.example", "ingrid.moe@acme.example"},
        ),
        ("matrix-of-people.csv", "name", {"Meier Anna", "Huber Peter", "Frei Lukas"}),
    ],
)
def test_names_and_addresses_are_read(tmp_path: Path, export: str, field: str, values: set[str]) -> None:
    found = imported(tmp_path, export=(FOLDER / export).read_bytes())

    assert set(found.rows("users", field)) == values


def test_secrets_in_an_envelope_around_records_are_not_kept(tmp_path: Path) -> None:
    found = imported(tmp_path, export=(FOLDER / "fortimanager-admins.json").read_bytes())

    assert "SH2" not in str(found.rows("users", "metadata"))


def test_list_with_one_record_is_read_as_a_list(tmp_path: Path) -> None:
    user = {"username": "ada", "items": [{"name": "a", "size": 1}, {"name": "b", "size": 2}]}
    group = {"name": "staff", "members": [{"username": "ada", "type": "user"}, {"username": "bob", "type": "user"}]}

    assert imported(tmp_path, users=json.dumps({"users": [user]})).active == {"ada"}
    assert imported(tmp_path, groups=json.dumps({"value": [group]})).memberships == {("ada", "staff"), ("bob", "staff")}


@pytest.mark.parametrize("headers", ["Group 1,Group 2", "role_1,role_2", "Team[1],Team[2]", "Rolle 1,Rolle 2"])
def test_numbered_columns_name_groups(tmp_path: Path, headers: str) -> None:
    found = imported(tmp_path, users=f"login,name,{headers}\nada,Ada Byron,Staff,Audit\nbob,Bob Kahn,Staff,\n")

    assert found.memberships == {("ada", "Staff"), ("ada", "Audit"), ("bob", "Staff")}


def test_unpivot_drops_headers_if_the_cells_contain_the_groups(tmp_path: Path) -> None:
    unpivot = {"keep": ["login"], "headers": "Group", "cells": "Group"}
    found = read_file(
        tmp_path, "login,g1,g2\nada,a,b\n", "memberships", columns={"login": "Username"}, shape={"unpivot": unpivot}
    )

    assert found.memberships == {("ada", "a"), ("ada", "b")}


@pytest.mark.parametrize(
    ("header", "cells", "locked"),
    [
        ("Lock", ("Locked by administrator", "", "Locked: too many logons"), {"ada", "cy"}),
        ("Benutzersperre", ("Durch Administrator gesperrt", "", ""), {"ada"}),
        ("Lock status", ("Locked by administrator", "Not locked", "Unlocked"), {"ada"}),
    ],
)
def test_text_in_a_lock_column_means_locked_unless_it_says_otherwise(
    tmp_path: Path, header: str, cells: tuple[str, ...], locked: set[str]
) -> None:
    rows = "".join(f"{login},{cell}\n" for login, cell in zip(("ada", "bob", "cy"), cells, strict=True))
    found = imported(tmp_path, users=f"Username,{header}\n{rows}")

    assert {username for username, is_locked in found.rows("users", "username", "is_locked") if is_locked} == locked


@pytest.mark.parametrize("member", ["Ada Byron (abyron)", "Ada Byron <abyron>", "Byron, Ada [abyron]"])
def test_login_after_a_name_is_the_username(tmp_path: Path, member: str) -> None:
    found = imported(tmp_path, members=f'Group,Member\nstaff,"{member}"\naudit,"{member}"\n')

    assert found.memberships == {("abyron", "staff"), ("abyron", "audit")}


@pytest.mark.parametrize("total", [";;Total users:;2", ";Anzahl: 2;;", ";;Summe;2"])
def test_total_outside_the_first_column_is_left_out(tmp_path: Path, total: str) -> None:
    found = imported(
        tmp_path, users=f"login;name;email;branch\nada;Ada Byron;a@x.org;1\nbob;Bob Kahn;b@x.org;1\n{total}\n"
    )

    assert found.active == {"ada", "bob"}


def test_login_is_the_username_although_only_a_number_is_unique(tmp_path: Path) -> None:
    text = (
        "id,login,name,email,last login,role\n1,ada,Ada Byron,a@x.org,2026-11-01,Teller\n"
        "2,ada,Ada Byron,a@x.org,2026-11-01,Audit\n3,bob,Bob Kahn,b@x.org,2026-11-02,Teller\n"
    )

    assert imported(tmp_path, export=text).memberships == {("ada", "Teller"), ("ada", "Audit"), ("bob", "Teller")}
