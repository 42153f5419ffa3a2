"""Find groups that contain one another after an import, so that its log can report them."""

from uuid import UUID

from rolecall.core.cycles import cycles
from rolecall.core.db import Db, fetch_rows

_MOST_REPORTED = 10


async def cycle_lines(db: Db, application_id: UUID) -> list[str]:
    """Return log lines for the first ten cycles of groups, and a line with the number of further cycles.

    Access is inherited through each group of a cycle only once.
    """
    rows = await fetch_rows(
        db,
        """SELECT p.child, c.name, p.parent FROM current_parents(ARRAY[%(id)s::uuid]) AS p
           JOIN groups c ON c.number = p.child""",
        id=application_id,
    )
    names = {number: name for number, name, _ in rows}
    found = [_from_lowest([names[number] for number in cycle]) for cycle in cycles({n: up for n, _, up in rows})]
    lines = [
        f"Groups contain one another, so access is inherited through each only once: {' > '.join([*cycle, cycle[0]])}"
        for cycle in sorted(found)[:_MOST_REPORTED]
    ]
    rest = len(found) - len(lines)
    return [*lines, f"Further cycles of groups: {rest:,}"] if rest else lines


def _from_lowest(cycle: list[str]) -> list[str]:
    lowest = cycle.index(min(cycle))
    return cycle[lowest:] + cycle[:lowest]
