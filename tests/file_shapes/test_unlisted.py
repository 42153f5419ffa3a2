"""Test that accounts are reported if memberships or permissions name them but no list of users contains them."""

from pathlib import Path

import httpx2

from rolecall.application_imports.read.unlisted import unlisted_in_words
from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.application_imports.running import Imports
from tests.builders import an_application
from tests.file_shapes.test_exports import proposed

USERS = "username,name,status\nada,Ada Byron,active\nbob,Bob Kahn,inactive\n"
MEMBERS = "username,group\nada,Staff\ncy,Staff\ncy,Admins\ndan,Staff\n"
GRANTS = "username,permission,access\nada,Read,Grant\neve,Read,Grant\n"


def statements(folder: Path, **files: str) -> dict[str, list[str]]:
    return {str(part.content): part.statements for file in proposed(folder, **files).files for part in file.contents}


def test_proposal_names_members_that_no_file_lists(tmp_path: Path) -> None:
    found = statements(tmp_path, users=USERS, members=MEMBERS, grants=GRANTS)

    because = "The list of users may be incomplete, or these are groups or roles"
    assert (
        f"2 accounts are not among the users: cy, dan; 3 rows name them and are rejected. {because}"
        in (found["memberships"])
    )
    assert f"1 account is not among the users: eve; 1 row names it and is rejected. {because}" in found["permissions"]
    assert "not among" not in str(found["users"])


def test_proposal_compares_with_the_accounts_that_memberships_give(tmp_path: Path) -> None:
    found = statements(tmp_path, members=MEMBERS, grants=GRANTS)

    assert (
        "The file has no list of users: these rows name 3 accounts, all of them active: ada, cy, dan"
        in (found["memberships"])
    )
    assert "1 account is not among the users: eve" in str(found["permissions"])


def test_grantees_that_may_be_roles_are_named(tmp_path: Path) -> None:
    found = statements(tmp_path, grants='"GRANTEE","GRANTED_ROLE"\n"ADA","CONNECT"\n"PAYROLL_RW","PAYROLL_RO"\n')

    assert (
        "GRANTEE may name roles too, which would become accounts. Add the list of users to tell them apart"
        in (found["memberships"])
    )
    assert "these rows name 2 accounts, all of them active: ADA, PAYROLL_RW" in str(found["memberships"])


def test_only_the_beginning_of_a_list_of_users_is_not_compared(tmp_path: Path) -> None:
    many = "".join(f"u{n},U {n},active\n" for n in range(3_000))

    found = statements(tmp_path, users=f"{USERS}{many}", members=MEMBERS)

    assert "not among" not in str(found)
    assert "These counts cover only the beginning of the file" in found["users"]


def test_many_unlisted_accounts_are_counted() -> None:
    told = unlisted_in_words([f"u{n}" for n in range(1_000)], 2_000)

    assert told.startswith(
        "1,000 accounts are not among the users: u0, u1, u10, u100, u101, u102 and 994 more; 2,000 rows"
    )


async def test_import_warns_of_members_that_no_file_lists(client: httpx2.AsyncClient, config: Config, db: Db) -> None:
    files = [
        {"name": "Users", "content": "users", "columns": {"status": "Active"}},
        {"name": "Members", "content": "memberships", "allowRejects": True},
    ]
    application = await an_application(db, connector={"name": "Files", "files": files})

    run = await Imports(client, config).finish(application, {"Users": USERS, "Members": MEMBERS})

    [warning] = [line for line in run["log"].splitlines() if "Warning: " in line]
    assert "Members: 2 accounts are not among the users: cy, dan; 3 rows name them and are rejected" in warning


async def test_import_says_which_accounts_it_takes_from_memberships(
    client: httpx2.AsyncClient, config: Config, db: Db
) -> None:
    files = [{"name": "Members", "content": "memberships", "shape": {"deriveUsers": True}}]
    application = await an_application(db, connector={"name": "Files", "files": files})

    run = await Imports(client, config).finish(application, {"Members": MEMBERS})

    told = "no file lists the users; the rows of this file name 3 accounts, all of them active: ada, cy, dan"
    assert told in run["log"]
