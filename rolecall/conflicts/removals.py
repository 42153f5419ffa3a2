"""Find the access whose removal would take duties from a person in conflict."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from rolecall.conflicts.shapes import ConflictSide, RemovalRequest
from rolecall.duties.shapes import DutyAccess, DutyAccount, DutyReference
from rolecall.entitlements.model import EntitlementKind


class Removal(msgspec.Struct, frozen=True):
    """Access that a request can remove: a permission, or a membership with everything that comes through it.

    `taken` are the duties that the person would no longer hold, `kept` those that other access also gives. `requested`
    are requests to remove the access; no import shows their effect yet.
    """

    application: DutyReference
    privilege: str
    name: str
    is_membership: bool
    taken: list[DutyReference]
    kept: list[DutyReference]
    requested: list[RemovalRequest]


class _Key(msgspec.Struct, frozen=True):
    """An account and the access that a request would remove from it."""

    account: DutyAccount
    is_membership: bool
    header: str
    section: str
    name: str


def removals(sides: Sequence[ConflictSide], requested: Sequence[RemovalRequest]) -> list[Removal]:
    """Return one removal for each access on the sides, even if the access gives several of the duties."""
    found: dict[_Key, DutyAccess] = {}
    keys: dict[UUID, set[_Key]] = {}
    for side in sides:
        for each in side.access:
            found.setdefault(_key(each.access), each.access)
            keys.setdefault(side.duty.id, set()).add(_key(each.access))
    return [_removal(key, access.application, sides, keys, requested) for key, access in found.items()]


def _key(access: DutyAccess) -> _Key:
    if access.path:
        # Access through groups can be removed only with the membership in the first group of its path.
        return _Key(access.account, True, access.path_header, "", access.path[0])
    is_group = access.kind is EntitlementKind.GROUP
    return _Key(access.account, is_group, access.header, access.section, access.name)


def _removal(
    key: _Key,
    application: DutyReference,
    sides: Sequence[ConflictSide],
    keys: dict[UUID, set[_Key]],
    requested: Sequence[RemovalRequest],
) -> Removal:
    given = [side.duty for side in sides if key in keys[side.duty.id]]
    return Removal(
        application,
        " / ".join(filter(None, (key.header, key.section, key.name))),
        key.name or key.section,
        key.is_membership,
        [duty for duty in given if keys[duty.id] == {key}],
        [duty for duty in given if keys[duty.id] != {key}],
        [each for each in requested if _removes(each, application, key)],
    )


def _removes(request: RemovalRequest, application: DutyReference, key: _Key) -> bool:
    is_whole_account = request.permission is None
    return (request.application_id, request.account) == (application.id, key.account.username) and (
        is_whole_account or (request.header, request.section, request.permission) == (key.header, key.section, key.name)
    )
