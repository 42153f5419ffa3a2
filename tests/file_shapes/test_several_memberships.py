"""Test that one application reads memberships of several kinds, such as roles and profiles, from several files."""

from pathlib import Path

import pytest

from rolecall.application_imports.read.broken_file import BrokenFile
from tests.application_imports.reading import read_files
from tests.file_shapes.test_exports import imported, proposed
from tests.file_shapes.test_references import questions

ROLES = "UNAME;AGR_NAME;TO_DAT\nABYRON;Z_FI;31.12.9999\nBKAHN;Z_FI;31.12.9999\nBKAHN;Z_MM;01.01.2020\n"
PROFILES = "BNAME;PROFILE\nABYRON;T-FI\nBKAHN;SAP_ALL\nBKAHN;T-FI\n"
USERS = "BNAME;NAME_TEXT\nABYRON;Ada Byron\nBKAHN;Bob Kahn\n"


def problems(folder: Path, **files: str) -> list[str | None]:
    return [file.problem for file in proposed(folder, **files).files]


@pytest.mark.parametrize("users", [{}, {"USR02": USERS}])
def test_roles_and_profiles_are_read_together(tmp_path: Path, users: dict[str, str]) -> None:
    found = imported(tmp_path, AGR_USERS=ROLES, UST04=PROFILES, **users)

    assert found.active == {"ABYRON", "BKAHN"}
    assert found.memberships == {
        ("ABYRON", "Z_FI"), ("BKAHN", "Z_FI"), ("BKAHN", "Z_MM"),
        ("ABYRON", "T-FI"), ("BKAHN", "SAP_ALL"), ("BKAHN", "T-FI"),
    }  # fmt: skip


def test_condition_on_the_column_of_one_file_leaves_the_other_complete(tmp_path: Path) -> None:
    files = {"AGR_USERS": ROLES, "UST04": PROFILES}
    group = proposed(tmp_path, **files).connector["files"][0]
    group["shape"]["skipRowsWhere"] = [{"column": "TO_DAT", "isPast": "day first"}]

    found = read_files(tmp_path, [group], {group["name"]: [*files.values()]})

    assert ("BKAHN", "Z_MM") not in found.memberships
    assert len(found.memberships) == 5
    assert any("shape.skipRowsWhere names TO_DAT, which the file does not have" in note for note in found.notes)


def test_file_with_two_columns_for_a_field_fails(tmp_path: Path) -> None:
    group = proposed(tmp_path, AGR_USERS=ROLES, UST04=PROFILES).connector["files"][0]

    with pytest.raises(BrokenFile, match="columns AGR_NAME and PROFILE are both read as Group"):
        read_files(tmp_path, [group], {group["name"]: "UNAME;AGR_NAME;PROFILE\nABYRON;Z_FI;T-FI\n"})


def test_role_and_group_of_the_same_name_are_asked_about(tmp_path: Path) -> None:
    roles, groups = "user,role\nada,admin\nbob,viewer\n", "user,group\nada,Sales\nbob,admin\n"

    assert questions(tmp_path, roles=roles, groups=groups) == [
        "groups (column group) and roles (column role) both have admin. Is this one group? If not, import one of the "
        "files as a separate application."
    ]
    assert questions(tmp_path, roles=roles, groups=groups.replace("admin", "Ops")) == []


@pytest.mark.parametrize(
    "other", ["member,team\nzed,Red\nyan,Blue\nzed,Blue\n", "member,teams\nada,Red;Blue\nbob,Blue\nada,Green\n"]
)
def test_memberships_that_cannot_be_read_alike_are_refused_with_advice(tmp_path: Path, other: str) -> None:
    roles = "user,role\nada,admin\nbob,viewer\nbob,editor\n"

    assert problems(tmp_path, roles=roles, other=other) == [
        None,
        "roles already has memberships, in other columns; save this file with the columns user and role, a row for "
        "each pair, or import this file as a separate application",
    ]


def test_evidence_names_members_that_are_not_read_beside_another_file(tmp_path: Path) -> None:
    groups, members = "name,members\nSales,ada;bob\nOps,bob\n", "user,group\nada,Sales\nbob,Ops\nbob,Sales\n"

    (listing,) = proposed(tmp_path, groups=groups, members=members).files[0].contents

    assert "Another file has the memberships; they are not read from name, members" in listing.evidence
