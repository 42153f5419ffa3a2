"""Read what open requests would give and take away, for the check of duties.

The check of a request also includes access that other requests give: earlier requests, and provisioned ones. To compare
them, each request has a *turn* (`turn_of`, schema/access_requests.sql): its number, `PROVISIONED`, or `CANCELED` if it
may have been provisioned before it was canceled. Completed requests, and these canceled ones, are treated as open until
an import could show their access (`is_unshown`, in the same file).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.duties.prevention import ProposedAccess
from rolecall.settings.policy import RequestAction

PROVISIONED, CANCELED = -1, 0
# The turn of a request, by the column `is_provisioned` of open_changes_of_people. If the column is false, the turn is
# the number of the request.
_TURNS = {True: PROVISIONED, None: CANCELED}
Group = tuple[UUID, str]
# The columns of an OpenChange for a request `r` about a group and its privilege `p`. If the request removes or suspends
# the group itself, `p` is null.
_CHANGE = """r.application_id, p.header, coalesce(p.section, ''), coalesce(p.permission, r.target_name),
    coalesce(p.initial_access, 'Grant'), coalesce(p.lowered_access, p.requested_access, 'None'), r.target_name, true"""


class OpenAccessRequest(msgspec.Struct, frozen=True):
    """An open request that affects a person; checks of other requests that affect this person include it.

    `items` are the ids of its related items, such as its personnel event.
    """

    id: UUID
    number: int
    turn: int
    action: RequestAction
    items: frozenset[UUID]

    @property
    def is_provisioned(self) -> bool:
        return self.turn == PROVISIONED


class OpenChange(msgspec.Struct, frozen=True):
    """The access to a privilege before and after an open request."""

    before: ProposedAccess
    after: ProposedAccess


def _a_change(row: Sequence[Any]) -> OpenChange:
    *names, before, after, holder, is_group = row
    initial = ProposedAccess(*(*names, Access(before), holder, is_group))
    return OpenChange(initial, msgspec.structs.replace(initial, access=Access(after)))


def _parts(groups: Iterable[Group]) -> dict[str, list[Any]]:
    asked = list(groups)
    return {"applications": [id for id, _ in asked], "names": [name for _, name in asked]}


async def take_turns_of_nesting(db: Db, *, of_groups: bool) -> bool | None:
    """Take a lock that serializes the checks of requests about groups (`of_groups`) with all other checks.

    If no rule keeps duties apart, take no lock and return None. Otherwise return whether there are requests about
    groups that imports do not show yet.
    """
    found: bool | None = await fetch_value(db, "SELECT take_turns_of_nesting(%(of_groups)s)", of_groups=of_groups)
    return found


async def take_turns_of_people(db: Db, people: Collection[UUID], *, of_groups: bool) -> None:
    """Take the locks that the checks of requests of these people or about groups take, all at once and in order.

    A transaction that makes several checks calls this first: otherwise each check would take its locks after those of
    the check before it, and two such transactions could deadlock. Requests must be locked before.
    """
    if (people or of_groups) and await take_turns_of_nesting(db, of_groups=of_groups) is not None:
        await execute(db, "SELECT take_turns('person', %(people)s::text[])", people=[str(id) for id in people])


async def take_all_turns(db: Db, ids: Iterable[UUID]) -> None:
    """Take the locks of the checks of these locked requests, all at once (`take_turns_of_people`)."""
    rows = await fetch_rows(
        db, "SELECT DISTINCT identity_id FROM access_requests WHERE id = ANY(%(ids)s)", ids=list(ids)
    )
    await take_turns_of_people(db, [id for (id,) in rows if id], of_groups=(None,) in rows)


async def changes_of_groups(db: Db, groups: Iterable[Group]) -> dict[Group, list[tuple[int, OpenChange]]]:
    """Return what open requests would give to, or take from, each group and the groups above it.

    The groups above include those that the group would join through an open request. Each change comes with a turn: the
    highest among its request and the requests through which the group would join.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT w.application_id, w.start, greatest(w.turn, turn_of(r)), {_CHANGE}
            FROM requested_nesting(%(applications)s::uuid[], %(names)s::text[], true) AS w
            JOIN access_requests r ON r.application_id = w.application_id AND in_any_case(r.target_name) = w.name
                                      AND r.identity_id IS NULL AND is_unshown(r)
            LEFT JOIN privileges p ON p.request_id = r.id
            WHERE p.request_id IS NOT NULL OR r.action IN ('Remove', 'Suspend')""",
        **_parts(groups),
    )
    found = defaultdict[Group, list[tuple[int, OpenChange]]](list)
    for application_id, name, turn, *row in rows:
        found[application_id, name].append((turn, _a_change(row)))
    return found


async def open_changes(
    db: Db, people: Iterable[UUID], *, of_groups: bool
) -> dict[UUID, dict[OpenAccessRequest, list[OpenChange]]]:
    """Return, for each person, what open requests would change.

    These are requests about the person or their accounts and, with `of_groups`, about groups that they are in. Lock the
    people until the transaction ends, so that two concurrent checks cannot miss each other's request.
    """
    rows = await fetch_rows(
        db,
        "SELECT * FROM open_changes_of_people(%(people)s::uuid[], %(of_groups)s)",
        people=list(people),
        of_groups=of_groups,
    )
    found = defaultdict[UUID, dict[OpenAccessRequest, list[OpenChange]]](lambda: defaultdict(list))
    for identity_id, id, number, is_provisioned, action, items, *row in rows:
        turn = number if is_provisioned is False else _TURNS[is_provisioned]
        request = OpenAccessRequest(id, number, turn, RequestAction(action), frozenset(items))
        found[identity_id][request].append(_a_change(row))
    return found


async def people_in_groups(db: Db, groups: Iterable[Group]) -> dict[Group, list[tuple[int, UUID]]]:
    """Return the people in each group or in a group below it, and people whom open requests would add.

    With each person, return the highest turn of the requests that the membership depends on, or `PROVISIONED` if it
    depends on no request.
    """
    asked = list(groups)
    if not asked:
        return {}
    found: dict[Group, list[tuple[int, UUID]]] = {group: [] for group in asked}
    rows = await fetch_rows(
        db,
        """WITH below AS MATERIALIZED (
               SELECT * FROM requested_nesting(%(applications)s::uuid[], %(names)s::text[], false)
           ), reached AS (
               SELECT b.application_id, b.start, b.turn, a.identity_id FROM below b
               JOIN groups g ON g.application_id = b.application_id AND in_any_case(g.name) = b.name
               JOIN memberships m ON m.group_number = g.number AND m.until_import IS NULL
               JOIN accounts a ON a.number = m.account_number AND a.identity_id IS NOT NULL
               UNION ALL
               SELECT b.application_id, b.start, greatest(b.turn, turn_of(r)), r.identity_id FROM below b
               JOIN privileges p ON in_any_case(p.permission) = b.name AND is_membership(p)
               JOIN access_requests r ON r.id = p.request_id AND r.application_id = b.application_id
               WHERE r.identity_id IS NOT NULL AND is_unshown(r) AND gives(r)
           )
           -- The lowest turn, because one provisioned path is enough for a membership.
           SELECT application_id, start, min(turn), identity_id FROM reached
           GROUP BY application_id, start, identity_id""",
        **_parts(asked),
    )
    for application_id, name, turn, identity_id in rows:
        found[application_id, name].append((turn, identity_id))
    return found
