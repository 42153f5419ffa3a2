"""Test how entries of a directory become records."""

from typing import Any

import pytest

from rolecall.sources.ldap import record_of
from rolecall.sources.model import FetchedRecord, SourceFailed
from rolecall.sources.nesting import effective_members


class RangedEntry(dict[str, list[Any]]):
    """An entry with an attribute in ranges, as Active Directory returns long attributes."""

    dn = "cn=Everyone"


def test_ranges_of_members_are_joined() -> None:
    parts = {
        "member;range=2-*": RangedEntry({"member;range=2-3": ["c", "d"]}),
        "member;range=4-*": RangedEntry({"member;range=4-*": ["e"]}),
    }
    first = RangedEntry({"cn": ["Everyone"], "member;range=0-1": ["b", "a"], "member": []})

    def read(dn: str, attribute: str) -> RangedEntry:
        assert dn == "cn=Everyone"
        return parts[attribute]

    assert record_of(first, read) == {
        "dn": "cn=Everyone",
        "cn": "Everyone",
        "member": ["a", "b", "c", "d", "e"],
    }


@pytest.mark.parametrize("following", [{}, {"member;range=0-1": ["a", "b"]}])
def test_fetch_fails_if_a_range_has_no_continuation(following: dict[str, list[str]]) -> None:
    def read(_: str, __: str) -> RangedEntry:
        return RangedEntry(following)

    with pytest.raises(SourceFailed, match="only part of member"):
        record_of(RangedEntry({"member;range=0-1": ["a", "b"]}), read)


def test_binary_identifiers_become_text() -> None:
    sid = bytes([1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0])
    entry: Any = RangedEntry({"objectSid": [sid], "objectGUID": [bytes(range(16))], "photo": [b"\xff\xd8"]})

    record = record_of(entry, lambda *_: pytest.fail("no range"))

    decoded: Any = RangedEntry({"objectSid": [sid.decode()], "flags": ["a\x00b"]})
    assert record_of(decoded, lambda *_: pytest.fail("no range"))["objectSid"] == "S-1-5-32-544"
    assert record_of(decoded, lambda *_: pytest.fail("no range"))["flags"] == "610062"
    assert record["objectSid"] == "S-1-5-32-544"
    assert record["objectGUID"] == "03020100-0504-0706-0809-0a0b0c0d0e0f"
    assert record["photo"] == "ffd8"


def test_cyclic_groups_do_not_cause_an_endless_loop() -> None:
    groups: list[FetchedRecord] = [
        {"dn": "CN=A,dc=x", "member": ["cn=b, dc=x", "u1"]},
        {"dn": "cn=B,dc=x", "member": "cn=a,dc=x"},
    ]

    assert [group["member"] for group in effective_members(groups, "member")] == [["u1"], ["u1"]]
