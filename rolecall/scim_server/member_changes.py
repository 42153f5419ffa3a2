"""Merge the operations of a PATCH request on the members of a group, so that they take few queries."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from rolecall.scim_server.filters import AnyOf, Filter
from rolecall.scim_server.model import ScimError

# Additions that alternate with removals by a filter cannot be merged.
_MOST_CHANGES = 50


class PatchVerb(StrEnum):
    ADD = "add"
    REPLACE = "replace"
    REMOVE = "remove"


class MemberChange(msgspec.Struct, frozen=True):
    """A change of the members of a group.

    A removal removes the members in `ids`, those that match `fitting`, or all (`is_all`).
    """

    verb: PatchVerb
    ids: dict[str, str] = {}
    fitting: Filter | None = None
    is_all: bool = False


class _Listed(msgspec.Struct):
    """Successive changes of listed members: remove `removed`, or all members, then add `added`."""

    is_all: bool = False
    removed: dict[str, str] = {}
    added: dict[str, str] = {}

    def apply(self, change: MemberChange) -> None:
        if change.verb is PatchVerb.REPLACE or change.is_all:
            self.is_all, self.removed, self.added = True, {}, {}
        if change.verb is PatchVerb.REMOVE:
            self.removed |= change.ids
            for id in change.ids:
                self.added.pop(id, None)
        else:
            # An empty display name keeps the previous one.
            self.added |= {id: display or self.added.get(id, "") for id, display in change.ids.items()}

    def changes(self) -> Iterable[MemberChange]:
        if self.is_all:
            yield MemberChange(PatchVerb.REPLACE, self.added)
            return
        if self.removed:
            yield MemberChange(PatchVerb.REMOVE, self.removed)
        if self.added:
            yield MemberChange(PatchVerb.ADD, self.added)


def merged(changes: Iterable[MemberChange]) -> list[MemberChange]:
    """Return fewer changes that lead to the same members."""
    parts = list[_Listed | list[Filter]]()
    for change in changes:
        is_filtered = change.fitting is not None
        if not parts or isinstance(parts[-1], list) != is_filtered:
            parts.append([] if is_filtered else _Listed())
        part = parts[-1]
        if isinstance(part, _Listed):
            part.apply(change)
        elif change.fitting:
            part.append(change.fitting)
    if len(parts) > _MOST_CHANGES:
        raise ScimError("The operations add and remove members too often; send fewer in one request", status=413)
    return [each for part in parts for each in (part.changes() if isinstance(part, _Listed) else [_filtered(part)])]


def _filtered(filters: list[Filter]) -> MemberChange:
    return MemberChange(PatchVerb.REMOVE, fitting=filters[0] if len(filters) == 1 else AnyOf(tuple(filters)))
