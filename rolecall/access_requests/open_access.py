"""Read what open requests would give and take, for the check of duties.

A completed request counts too until an import could show its access (`is_unshown`, schema/access_requests.sql).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.duties.prevention import ProposedAccess

_GIVES = "r.action IN ('Add', 'Change', 'Restore')"
# The columns of an OpenChange for a request `r` and its privilege `p`.
_CHANGE = """r.application_id, p.header, p.section, p.permission, p.initial_access,
    coalesce(p.lowered_access, p.requested_access), r.target_name, r.identity_id IS NULL"""


class OpenChange(msgspec.Struct, frozen=True):
    """A privilege before and after an open request."""

    before: ProposedAccess
    after: ProposedAccess


def _a_change(row: Sequence[Any]) -> OpenChange:
    *names, before, after, holder, is_group = row
    initial = ProposedAccess(*(*names, Access(before), holder, is_group))
    return OpenChange(initial, msgspec.structs.replace(initial, access=Access(after)))


async def take_turns_of_groups(db: Db, groups: Iterable[tuple[UUID, str]]) -> bool | None:
    """Let a membership and a request about its group wait for each other.

    Return None if no rule is in effect, else whether requests about groups are open.
    """
    asked = list(groups)
    found: bool | None = await fetch_value(
        db,
        "SELECT take_turns_of_groups(%(applications)s, %(names)s)",
        applications=[application_id for application_id, _ in asked],
        names=[name for _, name in asked],
    )
    return found


async def promised_to_groups(
    db: Db, groups: Iterable[tuple[UUID, str]]
) -> dict[tuple[UUID, str], list[ProposedAccess]]:
    """Return what open requests would give groups, also through the groups above them; other names have none."""
    asked = list(groups)
    rows = await fetch_rows(
        db,
        f"""SELECT g.application_id, g.name, {_CHANGE}
            FROM unnest(%(applications)s::uuid[], %(names)s::text[]) AS asked (application_id, name)
            JOIN groups g ON g.application_id = asked.application_id AND g.name = asked.name
            CROSS JOIN LATERAL groups_above(ARRAY[g.number], now_import()) AS w JOIN groups a ON a.number = w.above
            JOIN access_requests r ON r.application_id = a.application_id AND r.target_name = a.name
                                      AND r.identity_id IS NULL AND is_unshown(r) AND {_GIVES}
            JOIN privileges p ON p.request_id = r.id""",
        applications=[application_id for application_id, _ in asked],
        names=[name for _, name in asked],
    )
    found = defaultdict[tuple[UUID, str], list[ProposedAccess]](list)
    for application_id, name, *row in rows:
        found[application_id, name].append(_a_change(row).after)
    return found


async def open_changes(db: Db, people: Iterable[UUID], *, of_groups: bool) -> dict[UUID, list[OpenChange]]:
    """Return what open requests would change for people: their own, and those of groups that they are in.

    Other checks of requests of these people wait until the transaction ends, so that two cannot each miss the other.
    """
    rows = await fetch_rows(
        db,
        "SELECT * FROM take_turns_of_people(%(people)s::uuid[], %(of_groups)s)",
        people=list(people),
        of_groups=of_groups,
    )
    found = defaultdict[UUID, list[OpenChange]](list)
    for identity_id, *row in rows:
        found[identity_id].append(_a_change(row))
    return found


async def people_in_groups(db: Db, groups: Iterable[tuple[UUID, str]]) -> dict[tuple[UUID, str], list[UUID]]:
    """Return the people in each group or in one below it, and those whom open requests would make members."""
    asked = list(groups)
    found: dict[tuple[UUID, str], list[UUID]] = {group: [] for group in asked}
    if not asked:
        return found
    rows = await fetch_rows(
        db,
        f"""WITH below AS MATERIALIZED (
                SELECT g.application_id, g.name AS above, b.number, x.name, group_header(v.nomenclature) AS header
                FROM unnest(%(applications)s::uuid[], %(names)s::text[]) AS asked (application_id, name)
                JOIN groups g ON g.application_id = asked.application_id AND g.name = asked.name
                CROSS JOIN LATERAL groups_below(g.number, now_import()) AS b JOIN groups x ON x.number = b.number
                JOIN group_versions v ON v.group_number = b.number AND v.until_import IS NULL
            )
            SELECT b.application_id, b.above, a.identity_id FROM below b
            JOIN memberships m ON m.group_number = b.number AND m.until_import IS NULL
            JOIN accounts a ON a.number = m.account_number AND a.identity_id IS NOT NULL
            UNION
            SELECT b.application_id, b.above, r.identity_id FROM below b
            JOIN privileges p ON p.permission = b.name AND p.header = b.header
            JOIN access_requests r ON r.id = p.request_id AND r.application_id = b.application_id
            WHERE r.identity_id IS NOT NULL AND is_unshown(r) AND {_GIVES}""",
        applications=[application_id for application_id, _ in asked],
        names=[name for _, name in asked],
    )
    for application_id, name, identity_id in rows:
        found[application_id, name].append(identity_id)
    return found
