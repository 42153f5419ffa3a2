"""Test files that once raised an unexpected exception: each gets a proposal or a problem."""

import json
from pathlib import Path
from typing import Any

import pytest

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.json_records import read_json
from tests.file_shapes.test_exports import proposed

RECORDS: dict[str, Any] = {
    "lists without values": [{"user": "ada", "roles": {"a": {}}}, {"user": "ada", "roles": []}, {"user": []}],
    "groups without names": [{"name": "", "members": {"ada": "owner"}}, {"name": " ", "members": {"bob": "member"}}],
    "list as scope": [{"user": "ada", "roles": [{"role": "read", "db": "a"}, {"role": "read", "db": ["b"]}]}],
    "object as role": [{"user": "ada", "roles": [{"role": {"x": 1}, "db": "a"}, {"role": "r", "db": "b"}]}],
    "brackets in a name": {"x[]": [{"username": 0, "metadata": [{}]}, {"username": 1, "metadata": [{}]}]},
    "brackets in the name of an inner list": {"users": [{"id": 1, "a[]": [{"name": "x"}]}]},
    "sign of members in a name": {"roles.*": [{"username": "ada"}, {"username": "bob"}]},
    "blank name": [{"": "x"}, {"": [{"bindings": 0}, {}]}, {"": [None]}],
    "blank name of an inner list": {"key": [{"": [{"name": "", "data": "x"}]}], "users": [{"items": [{"a": 1}, True]}]},
    "braces in a name": [{"user": "ada", "roles {x}": ["a"]}, {"user": "bob", "roles {x}": ["b"]}],
    "dots in names": [{"name": {"a.b": [{"name": "x"}]}, "id": 1}],
    "kinds with braces": {
        "items": [
            {"role": {"kind": "{Role}", "name": "edit"}, "subjects": [{"kind": "{Group}", "name": "a"}]},
            {"role": {"kind": "Role", "name": "edit"}, "subjects": [{"kind": "User", "name": "bob"}]},
        ]
    },
    "members of mixed kinds": [{"users": ["ada"]}, {"users": {"ada": "x"}}, {"users": None}, {"users": 1}],
    "empty members": {"groups": {}, "users": [], "roles": {"admin": {}}},
}
TEXTS = {
    "bar in a header": "User|X,Group\nada,Staff\nada,Admins\nbob,Staff\n",
    "only separators": "user,groups\n;,;;\n|,;\n",
    "only invisible characters": "user,role\n\u200b,\u200b\n\ufeff,\u200b\n",
    "capitals of other lengths": "user\u0131,\u01c5ole,stra\u00dfe\nADA,\u0130,\u00df\nada,i\u0307,SS\n",
    "numbers as headers": "0,1,2\n0,1,2\n3,4,5\n",
    "accents in headers": "use\u0301r,ro\u0302le\nada,admin\nbob,admin\n",
    "one column": "user\nada\n",
    "byte order mark below the header": "user\n\ufeff",
    "blank headers": ",,\nada,admin,x\nbob,admin,y\n",
}


@pytest.mark.parametrize("name", RECORDS)
def test_odd_json_gets_a_proposal_or_a_problem(tmp_path: Path, name: str) -> None:
    (file,) = proposed(tmp_path, file=json.dumps(RECORDS[name])).files

    assert file.contents or file.problem


@pytest.mark.parametrize("name", TEXTS)
def test_odd_text_gets_a_proposal_or_a_problem(tmp_path: Path, name: str) -> None:
    (file,) = proposed(tmp_path, file=TEXTS[name]).files

    assert file.contents or file.problem


def test_members_that_a_shape_cannot_name_are_in_the_evidence(tmp_path: Path) -> None:
    (file,) = proposed(tmp_path, file=json.dumps(RECORDS["braces in a name"])).files

    assert "Not read, because a shape cannot refer to members with such names: roles {x}" in file.evidence


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        ('[{"a": "x"}]', "x[][0]", "write a list inside a list as in groups"),
        ('[{"a": [{"b": [1]}]}]', "[].a[0].b[]", "write only member names, without brackets"),
        ('"x"', None, "JSON without records"),
        ("1", None, "JSON without records"),
        ("null", None, "JSON without records"),
    ],
)
def test_odd_path_or_document_is_refused(text: str, path: str | None, problem: str) -> None:
    with pytest.raises(BrokenFile, match=problem):
        read_json(text.encode(), path)


def test_inner_list_is_found_below_names_with_dots() -> None:
    found = read_json(b'[{"a": {"b.c": [{"d": 1}]}}]', "[].a.b.c[]")

    assert [record for _, record in found.records] == [{"a": {"b.c": {"d": 1}}}]
