"""Find entitlements whose high risk rating an import lowers. Requests for them might then need fewer approvals."""

import msgspec

from rolecall.core.db import Db, fetch_all
from rolecall.core.text import some_of
from rolecall.settings.policy import Level

_HIGH = (Level.HIGH, Level.CRITICAL)
_MOST_NAMED = 3


class Lowered(msgspec.Struct, frozen=True):
    name: str
    before: str
    after: str


async def lowered(db: Db, number: int) -> list[Lowered]:
    """Return entitlements whose previous rating was high or critical, and which this import rates lower.

    The previous rating counts even if the entitlement was absent in between.
    """
    high = [str(level) for level in _HIGH]
    permissions = await fetch_all(db, Lowered, _PERMISSIONS, number=number, high=high)
    return permissions + await fetch_all(db, Lowered, _GROUPS, number=number, high=high)


def in_words(found: list[Lowered]) -> str:
    named = [f"{each.name} from {each.before} to {each.after}" for each in found]
    return f"it would lower the risk rating of {some_of(named, _MOST_NAMED)}"


_PERMISSIONS = """
    SELECT concat_ws(' ', nullif(p.header, ''), nullif(p.section, ''), nullif(p.permission, '')) AS name,
           was.risk_rating AS before, v.risk_rating AS after
    FROM permission_versions v JOIN permissions p ON p.number = v.permission_number
    CROSS JOIN LATERAL (SELECT b.risk_rating FROM permission_versions b
                        WHERE b.permission_number = v.permission_number AND b.from_import < %(number)s
                        ORDER BY b.from_import DESC LIMIT 1) AS was
    WHERE v.from_import = %(number)s AND was.risk_rating = ANY(%(high)s)
      AND risk_rank(v.risk_rating) < risk_rank(was.risk_rating)
    ORDER BY p.header, p.section, p.permission"""

# The risk of a group is the highest risk of its own permissions and those of its parents. Compare groups that lost a
# permission of high risk, got another parent or came back, and all groups below them.
_GROUPS = """
    WITH RECURSIVE below (number) AS (
        SELECT s.holder_number FROM assignments s JOIN groups g ON g.number = s.holder_number
        JOIN permissions p ON p.number = s.permission_number
        LEFT JOIN entitlements c ON c.id = p.id AND c.curated_risk IS NOT NULL
        JOIN permission_versions v ON v.permission_number = s.permission_number
             AND v.from_import < %(number)s AND (v.until_import IS NULL OR v.until_import >= %(number)s)
        WHERE s.until_import = %(number)s AND coalesce(c.curated_risk, v.risk_rating) = ANY(%(high)s)
        UNION
        SELECT v.group_number FROM group_versions v
        CROSS JOIN LATERAL (SELECT b.parent, b.until_import FROM group_versions b
                            WHERE b.group_number = v.group_number AND b.from_import < %(number)s
                            ORDER BY b.from_import DESC LIMIT 1) AS was
        WHERE v.from_import = %(number)s AND (was.parent, was.until_import) <> (v.parent, %(number)s)
        UNION
        SELECT v.group_number FROM below JOIN groups parent ON parent.number = below.number
        JOIN groups child ON child.application_id = parent.application_id
        JOIN group_versions v ON v.group_number = child.number AND v.parent <> ''
             AND in_any_case(v.parent) = in_any_case(parent.name)
             AND v.from_import < %(number)s AND (v.until_import IS NULL OR v.until_import >= %(number)s)
    )
    SELECT rated.name, rated.before, rated.after FROM (
        SELECT g.name::text AS name, group_risk(g.number) AS after,
               group_risk_at(g.number, (SELECT max(coalesce(b.until_import, %(number)s)) - 1 FROM group_versions b
                                        WHERE b.group_number = g.number AND b.from_import < %(number)s)) AS before
        FROM below JOIN groups g ON g.number = below.number
        JOIN group_versions v ON v.group_number = g.number AND v.until_import IS NULL
    ) AS rated
    WHERE rated.before = ANY(%(high)s) AND risk_rank(rated.after) < risk_rank(rated.before)
    ORDER BY rated.name"""
