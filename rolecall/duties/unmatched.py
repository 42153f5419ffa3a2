"""Warn of patterns that match no entitlement, and suggest similar names from the catalogue."""

from collections.abc import Sequence
from uuid import UUID

from rolecall.accounts.model import PermissionName
from rolecall.accounts.naming import look_up_groups, look_up_permissions
from rolecall.core.db import Db, fetch_rows
from rolecall.duties.model import Pattern
from rolecall.duties.shapes import MatchedPattern


async def warnings_of(db: Db, patterns: Sequence[MatchedPattern]) -> list[str]:
    """Return a warning for each pattern that matches nothing, or a single warning if there are no patterns."""
    if not patterns:
        return ["The duty has no patterns, so it has no holders"]
    unmatched = [each.pattern for each in patterns if not each.entitlements]
    complaints = await _complaints(db, unmatched)
    return [
        f"The pattern {each} matches no entitlement: {complaints.get(each, 'check the names in it')}"
        for each in unmatched
    ]


async def _complaints(db: Db, unmatched: Sequence[Pattern]) -> dict[Pattern, str]:
    """Compare patterns without wildcards with the catalogue of their application; return what is wrong with each."""
    exact = [each for each in unmatched if "*" not in str(each)]
    applications = await _applications(db, exact) if exact else {}
    known = [each for each in exact if each in applications]
    groups = [each for each in known if each.group]
    permissions = [each for each in known if not each.group]
    found = await look_up_groups(db, [(applications[each], each.group or "") for each in groups])
    found += await look_up_permissions(db, [(applications[each], _name(each)) for each in permissions])
    lookups = zip([*groups, *permissions], found, strict=True)
    return {each: lookup.complaint for each, lookup in lookups if lookup.complaint}


def _name(pattern: Pattern) -> PermissionName:
    return PermissionName(pattern.header or "", pattern.section or "", pattern.permission or "")


async def _applications(db: Db, patterns: Sequence[Pattern]) -> dict[Pattern, UUID]:
    rows = await fetch_rows(
        db,
        """SELECT n, a.id FROM unnest(%(names)s::text[]) WITH ORDINALITY AS p (name, n)
           JOIN applications a ON in_any_case(a.name) = in_any_case(p.name) ORDER BY a.name DESC""",
        names=[each.application for each in patterns],
    )
    # If the names of several applications match, take the first name: its row is the last and overwrites the others.
    return {patterns[n - 1]: id for n, id in rows}
