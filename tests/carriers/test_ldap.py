"""Requests carried out in a directory: Debian's slapd, really running."""

from typing import Any

import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from tests.carriers.carrying import GROUPS, LDAP, PEOPLE, Carrying
from tests.sources.peers import Directory

pytestmark = pytest.mark.usefixtures("directory")


def account(directory: Directory, name: str) -> dict[str, list[str]] | None:
    found = directory.find(f"(uid={name})")
    return found[0] if found else None


def members(directory: Directory, group: str) -> set[str]:
    (entry,) = directory.find(f"(cn={group})")
    return {dn.partition(",")[0].removeprefix("uid=") for dn in entry["member"]}


async def test_add_creates_the_account_and_its_memberships(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP)
    id = await carrying.request("Add", await carrying.person("new1"), gives=("Staff", "Clerks"))

    await carrying.work()

    made = account(directory, "new1")
    assert made is not None
    assert (made["cn"], made["mail"], made["employeeType"]) == (["New1 Lovelace"], ["new1@example.com"], ["Yes"])
    assert "new1" in members(directory, "Staff") & members(directory, "Clerks")
    detail = await carrying.detail(id)
    assert detail["status"] == "Completed"
    assert await carrying.said(id) == [
        ("Carried Out", f"Create the account new1: created as uid=new1,{PEOPLE}"),
        ("Carried Out", "Add new1 to the group Staff: added"),
        ("Carried Out", "Add new1 to the group Clerks: added"),
        ("Resolved", "The carrier provisioned the access"),
    ]


async def test_change_writes_attributes_and_memberships(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP)
    person = await carrying.account("change1", groups=("Staff",))
    await carrying.request("Change", person, gives=("Clerks",), takes=("Staff",), target_name="change1")

    await carrying.work()

    changed = account(directory, "change1")
    assert changed is not None
    assert changed["title"] == ["Clerk"]
    assert "change1" in members(directory, "Clerks") - members(directory, "Staff")


async def test_suspend_disables_and_restore_enables(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP)
    person = await carrying.account("disable1", groups=("Staff",))
    await carrying.request("Suspend", person, target_name="disable1", privileges=[])
    await carrying.work()
    disabled = account(directory, "disable1")

    await carrying.request("Restore", person, gives=("Staff",), target_name="disable1")
    await carrying.work()
    enabled = account(directory, "disable1")

    assert disabled is not None
    assert enabled is not None
    assert (disabled["employeeType"], enabled["employeeType"]) == (["No"], ["Yes"])
    assert "disable1" in members(directory, "Staff")


@pytest.mark.parametrize(("way", "name"), [("Disable", "leave1"), ("Delete", "delete1")])
async def test_remove_of_all_access_removes_the_account(
    carrying: Carrying, directory: Directory, way: str, name: str
) -> None:
    await carrying.put(directory.url, LDAP, onRemove=way)
    person = await carrying.account(name, groups=("Staff",))
    await carrying.request("Remove", person, target_name=name, privileges=[])

    await carrying.work()

    left = account(directory, name)
    assert (left and left["employeeType"]) == (["No"] if way == "Disable" else None)
    assert name not in members(directory, "Staff")


async def test_remove_of_some_access_keeps_the_account(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP)
    person = await carrying.account("leave2", groups=("Staff", "Clerks"))
    await carrying.request("Remove", person, takes=("Staff",), target_name="leave2")

    await carrying.work()

    kept = account(directory, "leave2")
    assert kept is not None
    assert kept["employeeType"] == ["Yes"]
    assert "leave2" not in members(directory, "Staff")


async def test_changes_that_are_so_already_are_not_repeated(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, onRemove="Delete", changedAttributes=[])
    person = await carrying.account("change2", groups=())
    added = await carrying.request("Change", person, gives=("Staff",), takes=("Clerks",), target_name="change2")
    gone = await carrying.account("nowhere1")
    removed = await carrying.request("Remove", gone, target_name="nowhere1", privileges=[])

    await carrying.work()

    assert [text for _, text in await carrying.said(added)][:2] == [
        "Add change2 to the group Staff: it was a member already",
        "Remove change2 from the group Clerks: it was no member already",
    ]
    assert (await carrying.said(removed))[0][1] == "Delete the account nowhere1: the account was gone already"


async def test_account_of_another_person_is_left_to_a_person(carrying: Carrying, directory: Directory) -> None:
    """The directory has change3, but with another name, and Rolecall has not imported it."""
    await carrying.put(directory.url, LDAP)
    id = await carrying.request("Add", await carrying.person("change3"), gives=("Clerks",))

    await carrying.work()

    detail = await carrying.detail(id)
    assert (detail["status"], detail["assignee"]["name"]) == ("Open", "Peter Naur")
    assert (await carrying.said(id))[0] == (
        "Left To Person",
        "Not carried out, a person must do it: the account change3 exists with other attributes; it may be another "
        "person's; 0 of 2 steps are done",
    )
    assert "change3" not in members(directory, "Clerks")


async def test_refused_change_is_left_to_a_person(carrying: Carrying, directory: Directory) -> None:
    """A group must keep one member, and the directory has no group of that name."""
    directory.add(f"dn: cn=Lonely,{GROUPS}\nobjectClass: groupOfNames\nmember: uid=leave3,{PEOPLE}\n")
    await carrying.put(directory.url, LDAP)
    person = await carrying.account("leave3", groups=("Lonely", "Staff"))
    last = await carrying.request("Change", person, takes=("Lonely",), target_name="leave3")
    unknown = await carrying.request("Change", person, gives=("Nowhere",), target_name="leave3")

    await carrying.work()

    assert "the directory refuses the change" in (await carrying.said(last))[-2][1]
    assert "the directory has no group Nowhere" in (await carrying.said(unknown))[-2][1]


NAMES = [
    ('o"brien, the+third', "plain"),
    ("(uid=*)", "a filter"),
    ("#hash", "a number sign"),
    ("back\\slash", "a backslash"),
]


@pytest.mark.parametrize("name", [name for name, _ in NAMES], ids=[what for _, what in NAMES])
async def test_special_characters_of_a_name_stay_part_of_it(
    carrying: Carrying, directory: Directory, name: str
) -> None:
    before = len(directory.find("(objectClass=inetOrgPerson)"))
    await carrying.put(directory.url, LDAP, accountName="{title}", attributes={**LDAP["attributes"], "cn": "{title}"})
    person = await carrying.person("special", title=name)
    id = await carrying.request("Add", person, gives=("Clerks",))

    await carrying.work()

    assert (await carrying.detail(id))["status"] == "Completed", await carrying.said(id)
    found = [each for each in directory.find("(objectClass=inetOrgPerson)") if each.get("cn") == [name]]
    assert [each["uid"] for each in found] == [[name]]
    assert len(directory.find("(objectClass=inetOrgPerson)")) == before + 1


async def test_unknown_permission_is_left_to_a_person(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP)
    person = await carrying.account("change4", groups=("Staff",))
    post = NewPrivilege(header="Ledger", permission="Post entries", requested_access=Access.GRANT)
    clerks = NewPrivilege(header="Group", permission="Clerks")
    id = await carrying.request("Change", person, target_name="change4", privileges=[clerks, post])

    await carrying.work()

    assert "Ledger Post entries is not a group" in (await carrying.said(id))[0][1]
    assert (await carrying.detail(id))["status"] == "Open"
    assert "change4" not in members(directory, "Clerks")


CONNECTOR: dict[str, Any] = {
    "name": "LDAP",
    "files": [
        {
            "name": "Users",
            "content": "users",
            "columns": {"uid": "Username", "cn": "Name", "mail": "Email", "employeeType": "Active"},
            "shape": {"ignore": ["dn", "objectClass", "memberOf", "sn", "title"]},
        },
        {
            "name": "Members",
            "content": "memberships",
            "isOptional": True,
            "columns": {"member": "Username", "cn": "Group"},
            "shape": {"ignore": ["dn"]},
        },
    ],
}
