"""Test what is particular to Active Directory: states and times of accounts, and members through a primary group."""

import base64
from pathlib import Path

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.sources.model import SourceContent
from tests.sources.peers import a_directory, needs_ldap
from tests.sources.sourcing import a_sourced_application
from tests.sources.test_ldap import GROUPS, PEOPLE, a_group, found, put

# After a failed connection the library leaves two sockets for the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


def an_account(name: str, control: int) -> str:
    return (
        f"dn: cn={name},{PEOPLE}\nobjectClass: user\nsn: {name}\nsAMAccountName: {name}\n"
        f"userAccountControl: {control}\nlastLogonTimestamp: 133801632000000000\n"
    )


async def test_accounts_of_active_directory_have_their_state_and_last_login(
    client: httpx2.AsyncClient, db: Db, config: Config, tmp_path: Path
) -> None:
    needs_ldap()
    # 512 is an enabled account, 514 a disabled one, 66048 one whose password never expires.
    accounts = [an_account("ada", 512), an_account("old", 514), an_account("svc", 66048)]
    columns = {"sAMAccountName": "Username", "userAccountControl": "Active", "lastLogonTimestamp": "Last Login"}
    shape = {"dates": {"Last Login": "windows"}, "ignore": ["dn", "objectClass"]}
    connector = {"name": "AD", "files": [{"name": "Users", "content": "users", "columns": columns, "shape": shape}]}
    sourcing = await a_sourced_application(client, db, config, connector)
    folder = f"dn: {PEOPLE}\nobjectClass: organizationalUnit\n"
    with a_directory(tmp_path, "\n".join([folder, *accounts])) as directory:
        await put(sourcing, directory.url, {"Users": {"path": PEOPLE, "filter": "(objectClass=user)"}})

        run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]
    found = await sourcing.imports.items(f"/api/applications/{sourcing.id}/accounts")
    assert {each["username"]: each["isActive"] for each in found} == {"ada": True, "old": False, "svc": True}
    assert {each["lastLogin"] for each in found} == {"2025-01-01T00:00:00Z"}


def a_sid(last: int) -> str:
    parts = b"".join(part.to_bytes(4, "little") for part in (21, 1, 2, 3, last))
    return base64.b64encode(bytes([1, 5, 0, 0, 0, 0, 0, 5]) + parts).decode()


async def test_members_through_their_primary_group_are_found(config: Config, tmp_path: Path) -> None:
    """Active Directory does not list such members in `member` or `memberOf`."""
    needs_ldap()
    folders = [f"dn: {folder}\nobjectClass: organizationalUnit\n" for folder in (PEOPLE, GROUPS)]
    people = [
        f"{an_account(name, 512)}objectSid:: {a_sid(number)}\nprimaryGroupID: {group}\n"
        for name, number, group in (("ada", 500, 513), ("hidden", 501, 512))
    ]
    admins = f"objectClass: securityPrincipal\nobjectSid:: {a_sid(512)}\nmember"
    groups = [
        a_group("Domain Admins", [f"cn=ada,{PEOPLE}"]).replace("member", admins, 1),
        a_group("Administrators", [f"cn=Domain Admins,{GROUPS}"]),
    ]
    content = SourceContent(
        path=GROUPS,
        filter="(objectClass=groupOfNames)",
        attributes=["CN"],
        each="Member",
        resolve={"Member": "sAMAccountName"},
        nested=True,
    )
    with a_directory(tmp_path, "\n".join([*folders, *people, *groups]), member_of=False) as directory:
        records = await found(config, directory.url, content)

    assert {record["CN"]: record["Member"] for record in records} == {
        "Domain Admins": ["ada", "hidden"],
        "Administrators": ["ada", "hidden"],
    }
