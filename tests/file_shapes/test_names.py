"""Recognize what a column contains: names of people, roles, members of groups, or nothing to import."""

from pathlib import Path

from tests.file_shapes.test_exports import imported


def test_application_users_of_okta_are_accounts_and_not_people(tmp_path: Path) -> None:
    user = '{"id": "0%s", "externalId": "%s", "created": "2019-01-01T00:00:00Z", "status": "%s", "credentials": '
    user += '{"userName": "%s@x.com", "password": {"value": "hidden"}}, "profile": {"role": "Admin", "lastName": "B", '
    user += '"firstName": "A"}}'
    text = f"[{user % (1, 7, 'PROVISIONED', 'ada')}, {user % (2, 8, 'DEPROVISIONED', 'bob')}]"

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada@x.com"}, {"bob@x.com"})
    assert "hidden" not in str(found.rows("users", "metadata"))


def test_id_is_the_username_of_holders_without_a_name(tmp_path: Path) -> None:
    row = '{"principalName": "%s", "principalId": "%s", "principalType": "%s", "roleDefinitionName": "Reader"}'
    rows = [row % ("ada@x.com", "p1", "User"), row % ("Ops", "p2", "Group"), row % ("", "p3", "ServicePrincipal")]

    found = imported(tmp_path, roles=f"[{', '.join(rows)}]")

    assert found.active == {"ada@x.com", "p3"}
    assert {group for _, group, *_ in found.permissions} == {"", "Ops"}


def test_members_inside_groups_are_read(tmp_path: Path) -> None:
    text = (
        '{"Resources": [{"id": "1", "displayName": "Fin", "members": [{"value": "u1", "display": "ada", "type": '
        '"User"}, {"value": "g2", "display": "Sub", "type": "Group"}]}]}'
    )

    assert imported(tmp_path, groups=text).memberships == {("ada", "Fin")}


def test_members_of_a_directory_with_people_and_roles_are_read(tmp_path: Path) -> None:
    text = (
        "dn: cn=HR,ou=Groups,dc=x\nobjectClass: groupOfUniqueNames\ncn: HR\nuniqueMember: uid=ada,ou=People,dc=x\n"
        "uniqueMember: uid=bob,ou=People,dc=x\n\ndn: uid=ada,ou=People,dc=x\nobjectClass: person\ncn: Ada Byron\n"
        "uid: ada\nnsRoleDN: cn=staff,dc=x\n\ndn: uid=bob,ou=People,dc=x\nobjectClass: person\n"
        "displayName: Bob Kahn\nuid: bob\n\nsearch: 2\nresult: 0 Success\n"
    )

    found = imported(tmp_path, directory=text)

    assert found.memberships == {("ada", "HR"), ("bob", "HR")}
    assert found.rows("users", "name") == ["Ada Byron", "Bob Kahn"]


def test_lists_of_distinguished_names_in_braces_are_read(tmp_path: Path) -> None:
    text = (
        "SamAccountName : ada\nEnabled        : True\nMemberOf       : {CN=Fin,OU=G,DC=x, CN=Ops,OU=G,DC=x}\n\n"
        "SamAccountName : bob\nEnabled        : False\nMemberOf       : {}\n"
    )

    assert imported(tmp_path, users=text).memberships == {("ada", "Fin"), ("ada", "Ops")}


def test_profile_name_is_not_the_name_of_the_person(tmp_path: Path) -> None:
    text = (
        "Username,LastName,FirstName,Profile.Name,Permission sets\nada,Byron,Ada,System Administrator,Sales Manager\n"
    )
    text += "bob,Kahn,Bob,Standard User,Service Desk\n"

    assert imported(tmp_path, users=text).rows("users", "name") == ["Ada Byron", "Bob Kahn"]


def test_display_name_of_a_role_is_not_the_name_of_the_user(tmp_path: Path) -> None:
    text = "User,Role,Display Name\nada,Admin,Admins of all\nada,Audit,Auditors\nbob,Audit,Auditors\n"

    assert set(imported(tmp_path, export=text).rows("users", "name")) == {""}


def test_groups_among_members_are_not_users(tmp_path: Path) -> None:
    text = "id,userPrincipalName,displayName,objectType\n1,ada@x.com,Ada Byron,User\n2,,Nested,Group\n"
    text += "3,bob@x.com,Bob,User\n"

    assert imported(tmp_path, members=text).active == {"ada@x.com", "bob@x.com"}


def test_login_that_resembles_names_is_recognized_under_an_unknown_header(tmp_path: Path) -> None:
    text = (
        'Oper Code,Operator,Mail,Branch\nlkowal,"Kowal, Lena",lena@x.com,north\nmmeyer,"Meyer, Max",max@x.com,south\n'
    )

    assert imported(tmp_path, users=text).active == {"lkowal", "mmeyer"}


def test_single_words_do_not_replace_the_address_as_username(tmp_path: Path) -> None:
    text = "Mail,First Name,Last Name,Branch\nlena@x.com,Lena,Kowal,north\nmax@x.com,Max,Meyer,south\n"

    assert imported(tmp_path, users=text).active == {"lena@x.com", "max@x.com"}


def test_paths_names_and_badges_are_not_logins(tmp_path: Path) -> None:
    text = (
        "Email,First Name,Last Name,Preferred Name,Home,Badge Number\n"
        "lena@x.com,Lena,Kowal,Lenny,/home/lena,101\nmax@x.com,Max,Meyer,Maxi,/home/max,102\n"
    )

    assert imported(tmp_path, users=text).active == {"lena@x.com", "max@x.com"}


def test_username_with_full_names_is_read_as_name_beside_addresses(tmp_path: Path) -> None:
    text = (
        "id,username,email,teams\n1,Ada Byron,ada@x.org,Ops\n2,Bob Kahn,bob@x.org,Ops\n3,,cy@x.org,Ops\n"
        "4,Ada Byron,ada.byron@x.org,\n"
    )

    found = imported(tmp_path, users=text)

    assert found.rows("users", "username", "name") == [
        ("ada@x.org", "Ada Byron"),
        ("bob@x.org", "Bob Kahn"),
        ("cy@x.org", ""),
        ("ada.byron@x.org", "Ada Byron"),
    ]
