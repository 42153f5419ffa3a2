"""Read the realistic exports in the folder `exports` as proposed, without changes.

`expected.yaml` has the expected result of each: accounts, memberships, permissions (holder, kind, place, name and
access), people, and open questions. A file with only questions cannot be imported before they are answered.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.application_imports.reading import Outcome
from tests.file_shapes.test_exports import imported, proposed

FOLDER = Path(__file__).parent / "exports"
EXPECTED: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "expected.yaml").read_text())


def test_every_file_has_an_expectation() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*EXPECTED, "expected.yaml"}


@pytest.mark.parametrize("name", EXPECTED)
def test_export_is_read_as_proposed(tmp_path: Path, name: str) -> None:
    text = (FOLDER / name).read_bytes()

    found = outcome(imported(tmp_path, export=text)) if EXPECTED[name].keys() != {"questions"} else {}
    asked = [question.text for part in proposed(tmp_path, export=text).files[0].contents for question in part.questions]

    assert {**found, **({"questions": asked} if asked else {})} == EXPECTED[name]


def outcome(found: Outcome) -> dict[str, Any]:
    """Return the result in the format of `expected.yaml`."""
    outcome: dict[str, Any] = {}
    if "users" in found.deltas:
        outcome |= {"active": sorted(found.active), "inactive": sorted(found.inactive)}
        locked = [username for username, is_locked in found.rows("users", "username", "is_locked") if is_locked]
        outcome |= {"locked": sorted(locked)} if locked else {}
    if "memberships" in found.deltas:
        outcome["memberships"] = sorted(map(list, found.memberships))
    if "groups" in found.deltas:
        outcome["groups"] = sorted(found.groups)
    if "permissions" in found.deltas:
        columns = ("username", "group", "header", "section", "permission", "access")
        outcome["permissions"] = sorted(map(_permission, found.rows("permissions", *columns)))
    if "identities" in found.deltas:
        people = found.rows("identities", "employee_id", "first_name", "last_name", "status")
        outcome["people"] = sorted(map(list, people))
    return outcome


def _permission(row: tuple[str, ...]) -> list[str]:
    username, group, header, section, permission, access = row
    place = [part for part in (header, section) if part]
    return [username or group, "user" if username else "group", *place, permission, access]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "\nUser accounts for \\\\DC01\n\n---\nada     bob\nThe command completed successfully.\n",
            "output of net user",
        ),
        ("Defaults  env_reset\nroot  ALL=(ALL:ALL) ALL\n%wheel  ALL=(ALL) ALL\n", "a list of sudo rules"),
        ("username ada privilege 15 secret 9 $9$x\nusername bob privilege 1 password 7 08\n", "which contains secrets"),
        (
            'config system admin\n    edit "ada"\n        set password ENC SH2abc\n    next\nend\n',
            "which contains secrets",
        ),
        (
            "type=USER_LOGIN msg=audit(1762070122.1:4): pid=1\ntype=USER_END msg=audit(1762070122.2:5): pid=1\n",
            "audit log",
        ),
        ("GRANT SELECT ON hr.* TO 'ada'@'%';\nGRANT ALL ON pay.* TO 'bob'@'%';\n", "an SQL script"),
        ('when: "now"\nwho: "ada"\nwhat = everything\n', "text without columns, such as"),
        (
            " Schema | Name | Type  |  Access privileges   \n--------+------+-------+----------------------\n"
            " public | pay  | table | ada=arwd/postgres   +\n        |      |       | bob=r/postgres       \n",
            "PostgreSQL privileges in short form",
        ),
        (
            "  UID USER      PROC LAST-LOGIN\n    0 root       130 Nov02/08:15\n 1000 ada         21 Nov17/09:00\n",
            "the columns UID, USER cannot be separated",
        ),
        (
            "+------------------+\n| Grants for ada@% |\n+------------------+\n| GRANT ALL ON `hr`.* TO `ada`@`%` |\n",
            "an SQL script",
        ),
        (
            "username,name\nada,Ada Byron\nbob,Bob Kahn\n\ngroup,description\nstaff,All staff\n",
            "line 5 looks like the header of a second table (group, description); save each table as a separate file",
        ),
        (
            "#group\nid,provider,name,description,internal_id\nPLN,Native,PLN,Planning,x1\nHFM,Native,HFM,Close,x2\n"
            "#group_children\nid,group_id,group_provider,user_id,user_provider\nPLN,,,bplanner,Native\n"
            "#group_children\nid,group_id,group_provider,user_id,user_provider\nHFM,,,cclose,Native\n",
            "line 2 looks like the header of a table (id, provider, name), and line 6 like that of another",
        ),
        (
            "#user\nid,name,status\nada,Ada B,Active\nbob,Bob K,Active\n#user_groups\nid,group_id,user_id\n"
            "1,staff,ada\n2,staff,bob\n",
            "line 6 looks like the header of a second table (id, group_id, user_id)",
        ),
        (
            "READY\n ACCESSORID = CLM0010   NAME       = ANNA LIND\n TYPE       = USER      SIZE       = 512\n"
            " PROFILES   = CLMBASE   CLMADJ\n FACILITY   = TSO\n    ACCESS  = READ\n ACCESSORID = CLM0014  NAME = PE\n"
            " TYPE       = USER      SIZE       = 512\n PROFILES   = CLMBASE\n ATTRIBUTES = SUSPEND\nREADY\n",
            "the file is a listing with a name and a value on each line, such as ACCESSORID = CLM0010",
        ),
        (
            "\nUsername: SYSTEM              Owner:  MANAGER\nAccount:  SYSTEM     UIC: [1,4]\nCLI:      DCL\nFlags:\n"
            "Authorized Privileges:\n  ACNT   BYPASS\n\nUsername: JHARKER    Owner: Jo\nAccount: LIMS\nCLI:      DCL\n"
            "Flags:  DisUser\nAuthorized Privileges:\n  NETMBX\n",
            "such as Username: SYSTEM Owner: MANAGER, and not a table; export a table with a row for each",
        ),
        (
            "p, role:lab, catalog.entity.create, create, allow\np, role:lab, catalog-entity, read, allow\n",
            "a policy of Casbin without a header, with permissions (p); save its lines with p as a table",
        ),
        (
            "# roles\np, admin, orders, read\np, admin, orders, write\ng, ada, admin\n",
            "a policy of Casbin without a header, with permissions (p) and members of roles (g)",
        ),
    ],
    ids=[
        "net user",
        "sudoers",
        "cisco",
        "fortinet",
        "auditd",
        "sql",
        "text",
        "privileges",
        "numbers",
        "grants",
        "two tables",
        "sections",
        "named sections",
        "top secret",
        "vms",
        "casbin",
        "casbin with members",
    ],
)
def test_text_that_is_not_a_table_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (file,) = proposed(tmp_path, export=text).files

    assert problem in str(file.problem)
    assert file.contents == []


@pytest.mark.parametrize("status", ["Pending", "2", "Q"])
def test_unknown_status_is_not_guessed(tmp_path: Path, status: str) -> None:
    text = f"login,name,status\nada,Ada Byron,1\nbob,Bob Kahn,0\ncy,Cy Dee,{status}\n"

    with pytest.raises(Exception, match=f"Active is {status}: expected"):
        imported(tmp_path, users=text)
    (question,) = proposed(tmp_path, users=text).files[0].contents[0].questions
    assert question.text == f"status: what does {status} mean?"


def test_names_become_usernames_only_after_a_question(tmp_path: Path) -> None:
    text = "Employee,Branch\nAda Byron,Main\nBob Kahn,Main\n"

    (question,) = proposed(tmp_path, users=text).files[0].contents[0].questions

    assert "its values look like names of people. Does it name the account?" in question.text


def test_secrets_inside_records_are_not_kept(tmp_path: Path) -> None:
    found = imported(tmp_path, realm=(FOLDER / "keycloak-realm.json").read_text())

    assert "secretData" not in str(found.rows("users", "metadata"))
