"""Test that lists of members, special values, several last logins and East Asian text are read without loss."""

import json
from pathlib import Path

import pytest

from rolecall.application_imports.read.code_pages import likely_code_page
from tests.file_shapes.test_exports import imported, proposed


def statements(folder: Path, text: str) -> list[str]:
    return [line for file in proposed(folder, export=text).files for part in file.contents for line in part.statements]


def test_value_inside_a_list_is_not_the_name_of_the_account(tmp_path: Path) -> None:
    names = ["Ada Byron", "Bob Kahn", "Cy Dee"]
    users = [
        {"UserName": name[:3].strip().lower(), "GroupList": ["Ops"], "Tags": [{"Key": "Owner", "Value": name}]}
        for name in names
    ]

    found = imported(tmp_path, export=json.dumps({"UserDetailList": users}))

    assert found.rows("users", "username", "name") == [("ada", ""), ("bob", ""), ("cy", "")]


def test_lists_of_other_places_keep_their_names(tmp_path: Path) -> None:
    """Roles are named with their place only if several places have a role of the same name."""
    users = [
        {"username": "ada", "email": "ada@x.com", "roles": [{"name": "admin", "site": "north"}]},
        {"username": "bob", "email": "bob@x.com", "roles": [{"name": "clerk", "site": "south"}]},
    ]
    plain = imported(tmp_path, export=json.dumps(users)).memberships
    users[1]["roles"] = [{"name": "admin", "site": "south"}]

    assert plain == {("ada", "admin"), ("bob", "clerk")}
    assert imported(tmp_path, export=json.dumps(users)).memberships == {
        ("ada", "north: admin"),
        ("bob", "south: admin"),
    }


def test_roles_without_a_place_keep_their_names(tmp_path: Path) -> None:
    text = (
        '{"users": [{"user": "ada", "roles": [{"role": "read", "db": "shop"}, {"role": "read", "db": "hr"}]},'
        ' {"user": "bob", "roles": [{"role": "root"}, {"role": "read", "db": null}]}]}'
    )

    found = imported(tmp_path, export=text)

    assert found.memberships == {("ada", "shop: read"), ("ada", "hr: read"), ("bob", "root"), ("bob", "read")}


def test_roles_keep_their_places_beside_another_column_of_groups(tmp_path: Path) -> None:
    users = [
        {"username": name, "email": f"{name}@x.com", "roles": [{"name": "admin", "site": site}], "team": team}
        for name, site, team in (("ada", "north", "Ops"), ("bob", "south", "Ops"), ("cy", "east", "Lab"))
    ]

    assert imported(tmp_path, export=json.dumps(users)).memberships == {
        ("ada", "north: admin"),
        ("bob", "south: admin"),
        ("cy", "east: admin"),
    }
    (file,) = proposed(tmp_path, export=json.dumps(users)).files
    assert "Memberships are read only from roles[].name, not from team" in file.contents[0].evidence


def test_all_columns_of_scoped_roles_are_accounted_for(tmp_path: Path) -> None:
    users = [
        {"username": name, "email": f"{name}@x.com", "roles": [{"name": "admin", "site": site}]}
        for name, site in (("ada", "north"), ("bob", "south"))
    ]

    (file,) = proposed(tmp_path, export=json.dumps(users)).files

    assert {each.header: each.becomes for each in file.columns if each.header.startswith("roles[")} == {
        "roles[].site": "read",
        "roles[].name": "read",
    }


def test_members_whose_names_say_that_they_left_are_named(tmp_path: Path) -> None:
    members = {
        "Payroll": "Ada Byron (10231)\nBob Kahn (10316) (Terminated)",
        "Sales": "Cy Dee (10401)\nAda Byron (10231)",
    }
    text = "\n".join(["Group,Members", *(f'{group},"{names}"' for group, names in members.items()), ""])

    assert "1 account is active, but its name says otherwise: Bob Kahn (10316) (Terminated)" in statements(
        tmp_path, text
    )


def test_special_values_in_a_cell_are_a_list(tmp_path: Path) -> None:
    text = (
        "UPUPRF,UPTEXT,UPSTAT,UPSPAU,UPGRPF\nADA,Ada Byron,*ENABLED,*ALLOBJ *SECADM,GRPFIN\n"
        "BOB,Bob Kahn,*DISABLED,*JOBCTL,GRPFIN\nCY,Cy Dee,*ENABLED,*NONE,*NONE\n"
    )

    (file,) = proposed(tmp_path, export=text).files

    assert {each.header: each.separator for each in file.columns}["UPSPAU"] == " "


def test_other_last_logins_are_named(tmp_path: Path) -> None:
    text = (
        "User id,email,Org role,Last seen in Jira,Last seen in Wiki\n"
        "1,ada@x.com,Member,05 Apr 2024,07 Apr 2024\n2,bob@x.com,Unassigned,06 Apr 2024,Never accessed\n"
        "3,cy@x.com,Member,06 Apr 2024,Never accessed\n"
    )

    stated = "Last Login is Last seen in Jira. These columns may be last logins too: Last seen in Wiki"
    assert stated in statements(tmp_path, text)
    assert {group for _, group in imported(tmp_path, export=text).memberships} == {"Member"}


@pytest.mark.parametrize(
    ("text", "code_page"),
    [
        ("氏名,部署\n佐藤1,営業部（東京）\n鈴木2,ＩＴ部\n", "shift_jis"),
        ("Nº Empleado,Nombre\n1,Técnico\n", "windows-1252"),
        ("Nº Empleado,Nombre\n1,Ada\n", "windows-1252"),
    ],
    ids=["numbers and wide letters", "number sign", "number sign alone"],
)
def test_code_page_is_found_beside_numbers(text: str, code_page: str) -> None:
    assert likely_code_page(text.encode(code_page)) == code_page
