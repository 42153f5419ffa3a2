"""Add the members that LDAP groups do not list: nested members, and accounts with the group as their primary group."""

import re
from collections.abc import Iterable

from rolecall.sources.model import FetchedRecord

SID, PRIMARY_GROUP = "objectSid", "primaryGroupID"


def effective_members(groups: list[FetchedRecord], attribute: str) -> list[FetchedRecord]:
    """Return groups with their direct and nested members, without the nested groups. Cycles are allowed."""
    members = {same_dn(group["dn"]): _listed(group.get(attribute)) for group in groups}
    return [{**group, attribute: _all_of(same_dn(group["dn"]), members)} for group in groups]


def primary_members(people: Iterable[FetchedRecord]) -> dict[str, list[str]]:
    """Map the SID of each primary group to the DNs of its accounts; skip computers.

    The SID of the group is the SID of the domain followed by the primaryGroupID of the account.
    """
    members: dict[str, list[str]] = {}
    for person in people:
        sid, group = person.get(SID), person.get(PRIMARY_GROUP)
        if sid and group and "computer" not in _listed(person.get("objectClass")):
            members.setdefault(f"{str(sid).rpartition('-')[0]}-{group}", []).append(person["dn"])
    return members


def with_members(group: FetchedRecord, attribute: str, more: list[str]) -> FetchedRecord:
    """Return a copy of the group with more members."""
    return {**group, attribute: [*_listed(group.get(attribute)), *more]} if more else group


def _all_of(start: str, members: dict[str, list[str]]) -> list[str]:
    found: dict[str, None] = {}
    seen, waiting = {start}, [start]
    while waiting:
        for member in members[waiting.pop()]:
            name = same_dn(member)
            if name not in members:
                found[member] = None
            elif name not in seen:
                seen.add(name)
                waiting.append(name)
    return sorted(found)


def _listed(value: object) -> list[str]:
    return [] if value is None else [str(each) for each in value] if isinstance(value, list) else [str(value)]


def same_dn(dn: str) -> str:
    """Normalize a DN for comparison: ignore case, and spaces after commas."""
    return re.sub(r"(?<!\\),\s+", ",", dn).casefold()
