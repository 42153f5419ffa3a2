"""Test carrying out requests in a running directory, slapd."""

from typing import Any

import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core.db import Db, execute
from tests.carriers.carrying import GROUPS, LDAP, PEOPLE, Carrying
from tests.sources.peers import SUFFIX, Directory

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


async def test_suspend_disables_the_account_and_restore_enables_it(carrying: Carrying, directory: Directory) -> None:
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
async def test_remove_of_all_access_disables_or_deletes_the_account(
    carrying: Carrying, directory: Directory, way: str, name: str
) -> None:
    await carrying.put(directory.url, LDAP, onRemove=way)
    person = await carrying.account(name, groups=("Staff",))
    await carrying.request("Remove", person, target_name=name, privileges=[])

    await carrying.work()

    left = account(directory, name)
    assert (left and left["employeeType"]) == (["No"] if way == "Disable" else None)
    assert name not in members(directory, "Staff")


async def test_remove_of_an_account_that_has_got_other_access_since_disables_it(
    carrying: Carrying, directory: Directory
) -> None:
    await carrying.put(directory.url, LDAP)
    person = await carrying.account("leave8", groups=("Staff",))
    id = await carrying.request("Remove", person, target_name="leave8", privileges=[])
    await carrying.account("other8", groups=("Clerks",))
    await execute(
        carrying.db,
        """UPDATE memberships SET account_number = (SELECT number FROM accounts WHERE username = 'leave8')
           WHERE account_number = (SELECT number FROM accounts WHERE username = 'other8')""",
    )

    await carrying.work()

    left = account(directory, "leave8")
    assert (await carrying.detail(id))["status"] != "Open"
    assert left is not None
    assert left["employeeType"] == ["No"]


async def test_remove_of_some_access_keeps_the_account(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP)
    person = await carrying.account("leave2", groups=("Staff", "Clerks"))
    await carrying.request("Remove", person, takes=("Staff",), target_name="leave2")

    await carrying.work()

    kept = account(directory, "leave2")
    assert kept is not None
    assert kept["employeeType"] == ["Yes"]
    assert "leave2" not in members(directory, "Staff")


async def test_existing_changes_are_not_repeated(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, onRemove="Delete", changedAttributes=[])
    person = await carrying.account("change2", groups=())
    added = await carrying.request("Change", person, gives=("Staff",), takes=("Clerks",), target_name="change2")

    await carrying.work()

    assert [text for _, text in await carrying.said(added)][:2] == [
        "Add change2 to the group Staff: it was already a member",
        "Remove change2 from the group Clerks: it was not a member",
    ]


@pytest.mark.parametrize("way", ["Delete", "Disable"])
async def test_missing_account_is_left_to_a_person(carrying: Carrying, directory: Directory, way: str) -> None:
    """The account may have moved to another organizational unit, where it can still be used."""
    await carrying.put(directory.url, LDAP, onRemove=way)
    person = await carrying.account("nowhere1")
    id = await carrying.request("Remove", person, target_name="nowhere1", privileges=[])

    await carrying.work()

    assert (await carrying.detail(id))["status"] == "Open"
    assert "the directory has no account nowhere1" in (await carrying.said(id))[0][1]


async def test_missing_group_is_left_to_a_person(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, changedAttributes=[])
    person = await carrying.account("change4", groups=("Renamed",))
    id = await carrying.request("Change", person, takes=("Renamed",), target_name="change4")

    await carrying.work()

    assert f"the directory has no group Renamed below {GROUPS}" in (await carrying.said(id))[0][1]


async def test_references_to_other_directories_are_not_accounts(carrying: Carrying, directory: Directory) -> None:
    reference = f"ref: ldap://127.0.0.1:1/ou=else,{SUFFIX}"
    directory.add(
        f"dn: ou=else,{SUFFIX}\nobjectClass: referral\nobjectClass: extensibleObject\nou: else\n{reference}\n"
    )
    await carrying.put(directory.url, LDAP, accountsPath=SUFFIX, changedAttributes=[])
    person = await carrying.account("change5", groups=())

    id = await carrying.request("Change", person, gives=("Clerks",), target_name="change5")
    await carrying.work()

    assert "change5" in members(directory, "Clerks")
    assert (await carrying.said(id))[0][1] == "Add change5 to the group Clerks: added"


async def test_partial_remove_keeps_the_account_of_a_person_who_left(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, onRemove="Delete")
    person = await carrying.account("leave4", groups=("Staff", "Clerks"))
    id = await carrying.request("Remove", person, takes=("Staff",), target_name="leave4")
    await execute(carrying.db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=person)

    await carrying.work()

    assert (await carrying.said(id))[0][1] == "Remove leave4 from the group Staff: removed"
    assert account(directory, "leave4") is not None


async def test_add_of_an_account_that_exists_is_left_to_a_person(carrying: Carrying, directory: Directory) -> None:
    """The directory has the account change3, which Rolecall has not imported."""
    await carrying.put(directory.url, LDAP)
    id = await carrying.request("Add", await carrying.person("change3"), gives=("Clerks",))

    await carrying.work()

    detail = await carrying.detail(id)
    assert (detail["status"], detail["assignee"]["name"]) == ("Open", "Peter Naur")
    assert (await carrying.said(id))[0] == (
        "Left To Person",
        "The carrier left the request to a person: the account change3 exists; it may be another person's; "
        "0 of 2 steps are done",
    )
    assert "change3" not in members(directory, "Clerks")


async def forget(db: Db, username: str) -> None:
    """Remove an account from the imported data."""
    for table in ("account_versions", "memberships"):
        await execute(
            db,
            f"""UPDATE {table} v SET until_import = from_import FROM accounts a
                WHERE a.number = v.account_number AND a.username = %(name)s""",
            name=username,
        )


async def test_partial_remove_of_an_unknown_account_is_left_to_a_person(
    carrying: Carrying, directory: Directory
) -> None:
    await carrying.put(directory.url, LDAP, onRemove="Delete")
    person = await carrying.account("leave7", groups=("Staff", "Clerks"))
    id = await carrying.request("Remove", person, takes=("Staff",), target_name="leave7")
    await forget(carrying.db, "leave7")

    await carrying.work()

    assert account(directory, "leave7") is not None
    assert "the last import shows no account leave7" in (await carrying.said(id))[0][1]


@pytest.mark.parametrize("action", ["Suspend", "Change"])
async def test_account_that_imports_do_not_show_is_left_to_a_person(
    carrying: Carrying, directory: Directory, action: str
) -> None:
    """Another person may have this username now."""
    await carrying.put(directory.url, LDAP)
    person = await carrying.account("change1", groups=("Staff",))
    asked: dict[str, Any] = {"gives": ("Clerks",)} if action == "Change" else {"privileges": []}
    id = await carrying.request(action, person, target_name="change1", **asked)
    await forget(carrying.db, "change1")

    await carrying.work()

    assert (await carrying.detail(id))["status"] == "Open"
    assert "the last import shows no account change1" in (await carrying.said(id))[0][1]


async def test_refused_change_is_left_to_a_person(carrying: Carrying, directory: Directory) -> None:
    """The directory refuses to remove the last member of a group, and does not have the other group."""
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
async def test_special_characters_in_a_name_are_escaped(carrying: Carrying, directory: Directory, name: str) -> None:
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


@pytest.mark.parametrize("action", ["Remove", "Suspend"])
async def test_account_that_now_belongs_to_another_person_is_not_changed(
    carrying: Carrying, directory: Directory, action: str
) -> None:
    await carrying.put(directory.url, LDAP, onRemove="Delete")
    person = await carrying.account("change7")
    id = await carrying.request(action, person, target_name="change7", privileges=[])
    other = await carrying.person("other7")
    await execute(carrying.db, "UPDATE accounts SET identity_id = %(other)s WHERE username = 'change7'", other=other)

    await carrying.work()

    assert "the account change7 is no longer matched to the person of the request" in (await carrying.said(id))[0][1]
    assert account(directory, "change7") is not None


async def test_change_of_an_account_that_now_belongs_to_another_person_is_canceled(
    carrying: Carrying, directory: Directory
) -> None:
    await carrying.put(directory.url, LDAP)
    id = await carrying.request("Change", await carrying.account("change7"), target_name="change7", gives=("Clerks",))
    other = await carrying.person("other7")
    await execute(carrying.db, "UPDATE accounts SET identity_id = %(other)s WHERE username = 'change7'", other=other)

    await carrying.work()

    found = await carrying.detail(id)
    assert (found["status"], await carrying.said(id)) == ("Canceled", [])
    assert "belongs to another identity now" in found["comments"][-1]["content"]
    assert "change7" not in members(directory, "Clerks")


async def test_account_control_that_cannot_be_read_is_not_overwritten(carrying: Carrying, directory: Directory) -> None:
    await carrying.put(directory.url, LDAP, activeAttribute="useraccountcontrol", activeValue="", inactiveValue="")
    person = await carrying.account("disable7")
    id = await carrying.request("Suspend", person, target_name="disable7", privileges=[])

    await carrying.work()

    assert "has no userAccountControl that the login may read" in (await carrying.said(id))[0][1]
