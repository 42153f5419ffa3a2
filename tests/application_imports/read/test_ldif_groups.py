"""Test that a group of a directory has one name, whether entries name it plainly or by its distinguished name."""

import pytest

from rolecall.application_imports.read.ldif import name_in, read_ldif

GROUPS = (
    "dn: cn=staff,ou=g,dc=x\ncn: staff\nmember: uid=ada,dc=x\nmember: uid=bob,dc=x\n\n"
    "dn: cn=ops,ou=g,dc=x\ncn: ops\nmember: uid=bob,dc=x\n\n"
)


def groups_of(text: str) -> dict[str, object]:
    return {str(entry["uid"]): entry.get("memberOf") for _, entry in read_ldif(text) if "uid" in entry}


def test_plain_names_are_completed_with_plain_names() -> None:
    people = "dn: uid=ada,dc=x\nuid: ada\nmemberOf: Staff\n\ndn: uid=bob,dc=x\nuid: bob\nmemberOf: ops\n"

    assert groups_of(GROUPS + people) == {"ada": "Staff", "bob": ["ops", "staff"]}


def test_plain_names_beside_distinguished_names_become_distinguished() -> None:
    people = (
        "dn: uid=ada,dc=x\nuid: ada\nmemberOf: staff\nmemberOf: other\n\n"
        "dn: uid=bob,dc=x\nuid: bob\nmemberOf: cn=staff,ou=g,dc=x\nmemberOf: staff\n"
    )

    assert groups_of(GROUPS + people) == {
        "ada": ["cn=staff,ou=g,dc=x", "other"],
        "bob": ["cn=staff,ou=g,dc=x", "cn=ops,ou=g,dc=x"],
    }


def test_name_of_several_groups_is_not_replaced() -> None:
    text = (
        "dn: cn=staff,ou=g,dc=x\nmember: uid=bob,dc=x\n\ndn: cn=staff,ou=h,dc=x\nmember: uid=bob,dc=x\n\n"
        "dn: uid=ada,dc=x\nuid: ada\nmemberOf: staff\n\ndn: uid=bob,dc=x\nuid: bob\nmemberOf: cn=staff,ou=g,dc=x\n"
    )

    assert groups_of(text) == {"ada": "staff", "bob": ["cn=staff,ou=g,dc=x", "cn=staff,ou=h,dc=x"]}


@pytest.mark.parametrize(
    ("text", "name"),
    [("cn=staff,dc=x", "staff"), (r"CN=Byron\, Ada,OU=x", "Byron, Ada"), ("staff", "staff"), ("cn=", "")],
)
def test_first_value_of_a_distinguished_name(text: str, name: str) -> None:
    assert name_in(text) == name
