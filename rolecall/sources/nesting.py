"""Replace groups that are members of groups by the members that they have."""

import re

from rolecall.sources.model import FetchedRecord


def effective_members(groups: list[FetchedRecord], attribute: str) -> list[FetchedRecord]:
    """Return groups with all members that they have directly or through other groups; cycles are followed once."""
    members = {same_dn(group["dn"]): _listed(group.get(attribute)) for group in groups}
    return [{**group, attribute: _all_of(same_dn(group["dn"]), members)} for group in groups]


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
    """Normalize a name: ignore case, and spaces after commas."""
    return re.sub(r"(?<!\\),\s+", ",", dn).casefold()
