"""Test that unread references to groups are reported: the number of a primary group, and groups that are members."""

import json
from pathlib import Path

import pytest

from rolecall.file_shapes.draft_answers import answer
from tests.application_imports.reading import Text, read_files
from tests.file_shapes.test_exports import imported, proposed

GROUPS = '"Group Name","Members"\n"CRM Users","ada\nCRM Admins"\n"CRM Admins","cy\nada"\n'


def questions(folder: Path, **files: Text) -> list[str]:
    return [
        question.text
        for file in proposed(folder, **files).files
        for part in file.contents
        for question in part.questions
    ]


def test_primary_group_with_a_number_is_asked_about(tmp_path: Path) -> None:
    passwd = "root:x:0:0:root:/root:/bin/bash\nada:x:1001:100:Ada Byron,,,:/home/ada:/bin/bash\n"
    group = "root:x:0:\nusers:x:100:\nsudo:x:27:ada\n"

    asked = questions(tmp_path, passwd=passwd, group=group)

    assert [text for text in asked if "GID" in text] == [
        "GID has the number of a group for each account, such as ada in users. An import cannot look up the names in "
        "the list of groups, so these memberships are not imported. Import without them? If not, add the accounts to "
        "the members of these groups in the file."
    ]


def test_numbers_of_other_groups_are_not_asked_about(tmp_path: Path) -> None:
    passwd = "root:x:0:0:root:/root:/bin/bash\nada:x:1001:100:Ada Byron,,,:/home/ada:/bin/bash\n"
    group = "wheel:x:10:\nsudo:x:27:ada\n"

    assert not any("GID" in text for text in questions(tmp_path, passwd=passwd, group=group))


def test_member_with_the_name_of_a_group_is_asked_about_and_named_in_the_log(tmp_path: Path) -> None:
    (asked,) = questions(tmp_path, export=GROUPS)
    (file,) = proposed(tmp_path, export=GROUPS).files
    statements = [line for part in file.contents for line in part.statements]

    assert asked.startswith("Members with the names of groups: CRM Admins.")
    assert "Members with the names of groups are read as accounts: CRM Admins" in statements


def test_member_that_is_listed_as_an_account_is_not_asked_about(tmp_path: Path) -> None:
    users = "username,name,email\nada,Ada Byron,ada@x.com\ncy,Cy Dee,cy@x.com\nCRM Admins,Shared,crm@x.com\n"

    assert questions(tmp_path, groups=GROUPS, users=users) == []


@pytest.mark.parametrize("pairs", ["ada,ada\nada,staff\nbob,bob\nbob,staff\n", "ada,staff\nbob,staff\n"])
def test_groups_of_one_person_are_not_asked_about(tmp_path: Path, pairs: str) -> None:
    text = f"username,groupname\n{pairs}"

    assert questions(tmp_path, export=text) == []
    assert ("ada", "staff") in imported(tmp_path, export=text).memberships


def test_names_of_groups_in_another_list_become_descriptions(tmp_path: Path) -> None:
    ids = [f"a1b2c3d4-000{n}-11ee-8000-da7ad0900000" for n in (1, 2)]
    users = [{"login": "ada", "name": "Ada Byron", "email": "a@x.com", "roles": ids}]
    levels = [{"id": id, "title": title} for id, title in zip(ids, ("Admin", "Viewer"), strict=True)]

    assert questions(tmp_path, export=json.dumps({"users": users, "levels": levels})) == [
        "The memberships name groups by id, not by title. Name the groups by id, with title as description?"
    ]


_USERS = [
    {"id": 123, "login": "anna", "name": "Anna Berg", "email": "anna@x.com", "state": "active"},
    {"id": 124, "login": "bob", "name": "Bob Kahn", "email": "bob@x.com", "state": "blocked"},
]


@pytest.mark.parametrize(
    "form", ["{0}", '{{"id": {0}}}', '{{"id": {0}, "role": "member"}}', '{{"user": {{"id": {0}}}}}']
)
def test_members_of_teams_are_joined_with_users_by_their_ids(tmp_path: Path, form: str) -> None:
    members = {"Ops": [123, 124], "Web": [124]}
    teams = [
        {"id": n, "name": name, "members": [json.loads(form.format(id)) for id in ids]}
        for n, (name, ids) in enumerate(members.items())
    ]

    found = imported(tmp_path, teams=json.dumps(teams), users=json.dumps(_USERS))

    assert (found.active, found.inactive) == ({"123"}, {"124"})
    assert found.rows("users", "name") == ["Anna Berg", "Bob Kahn"]
    assert found.memberships == {("123", "Ops"), ("124", "Ops"), ("124", "Web")}


def test_groups_of_users_are_joined_by_numbers_in_lists(tmp_path: Path) -> None:
    users = [{**each, "groups": ids} for each, ids in zip(_USERS, ([11], [11, 12]), strict=True)]
    groups = [{"id": 11, "name": "Ops"}, {"id": 12, "name": "Web"}]

    found = imported(tmp_path, users=json.dumps(users), groups=json.dumps(groups))

    assert found.memberships == {("anna", "11"), ("bob", "11"), ("bob", "12")}
    assert found.rows("groups", "group", "description") == [("11", "Ops"), ("12", "Web")]


_PERSON = "dn: uid={0},ou=people,dc=x\nobjectClass: inetOrgPerson\nuid: {0}\ncn: {0} B\n{1}\n"


def test_plain_and_distinguished_names_of_a_group_are_one_group(tmp_path: Path) -> None:
    text = _PERSON.format("ada", "memberOf: staff\n") + _PERSON.format(
        "bob", "memberOf: cn=staff,ou=groups,dc=x\nmemberOf: ops\nmemberOf: audit\n"
    )

    assert not any(part.questions for part in proposed(tmp_path, directory=text).files[0].contents)
    assert imported(tmp_path, directory=text).memberships == {
        ("ada", "staff"), ("bob", "staff"), ("bob", "ops"), ("bob", "audit"),
    }  # fmt: skip


@pytest.mark.parametrize("held", ["staff", "cn=staff,ou=groups,dc=x"])
def test_groups_of_a_directory_and_the_groups_that_people_name_are_the_same(tmp_path: Path, held: str) -> None:
    text = "dn: cn=staff,ou=groups,dc=x\nobjectClass: groupOfNames\ncn: staff\nmember: uid=ada,ou=people,dc=x\n"
    text += "member: uid=bob,ou=people,dc=x\n\n"
    text += _PERSON.format("ada", f"memberOf: {held}\nmemberOf: ops\n") + _PERSON.format("bob", "memberOf: staff\n")

    found = imported(tmp_path, directory=text)

    assert found.groups == {"staff"}
    assert found.memberships == {("ada", "staff"), ("ada", "ops"), ("bob", "staff")}


def test_groups_of_one_name_in_several_folders_are_asked_about(tmp_path: Path) -> None:
    text = _PERSON.format("ada", "memberOf: cn=admins,ou=db,dc=x\n") + _PERSON.format(
        "bob", "memberOf: cn=admins,ou=web,dc=x\nmemberOf: cn=staff,dc=x\n"
    )
    proposal = proposed(tmp_path, directory=text)
    (question,) = proposal.files[0].contents[1].questions
    group = proposal.connector["files"][0]

    assert question.text == (
        "Several groups have the same name: cn=admins,ou=db,dc=x, cn=admins,ou=web,dc=x. "
        "Are groups with the same name one group?"
    )

    answer(group["shape"]["contents"][0], question.choices[1])
    found = read_files(tmp_path, [group], {group["name"]: text})
    assert ("ada", "cn=admins,ou=db,dc=x") in found.memberships


def test_entry_of_a_later_file_may_have_several_groups(tmp_path: Path) -> None:
    first = _PERSON.format("ada", "memberOf: staff\n") + _PERSON.format("bob", "memberOf: ops\n")
    later = _PERSON.format("ada", "memberOf: staff\nmemberOf: ops\n") + _PERSON.format("bob", "")
    group = proposed(tmp_path, directory=first).connector["files"][0]

    found = read_files(tmp_path, [group], {group["name"]: later})

    assert found.memberships == {("ada", "staff"), ("ada", "ops")}
    assert found.active == {"ada", "bob"}


def test_status_of_people_is_not_that_of_groups(tmp_path: Path) -> None:
    person = "dn: cn={0},ou=Users,o=x\nobjectClass: inetOrgPerson\nuid: {0}\ncn: {0}\nsn: {0}\nloginDisabled: {1}\n\n"
    group = "dn: cn={0},ou=Groups,o=x\nobjectClass: groupOfNames\ncn: {0}\n{1}\n"
    members = "member: cn={0},ou=Users,o=x\n"
    text = person.format("ada", "FALSE") + person.format("bob", "TRUE")
    text += group.format("ops", members.format("ada")) + group.format("vpn", members.format("bob"))

    (file,) = proposed(tmp_path, export=text).files

    assert [asked.text for part in file.contents for asked in part.questions] == []
