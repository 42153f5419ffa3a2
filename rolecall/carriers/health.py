"""Find the problems of carriers without connecting to them, and count their requests."""

import msgspec

from rolecall.carriers.model import CARRYING, CarriedState, Carrier, CarrierMode
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows
from rolecall.core.text import counted
from rolecall.sources.health import connection_problem


async def problems(db: Db, config: Config) -> list[str]:
    """Return the problems of carriers that are not off, and how many requests the brake of each carrier holds."""
    rows = await fetch_rows(
        db,
        """SELECT a.id, a.name, c.definition,
                  (SELECT count(*) FROM carried_requests k JOIN access_requests r ON r.id = k.request_id
                   WHERE k.application_id = a.id AND k.state = 'Held' AND r.status = 'Open')
           FROM carriers c JOIN applications a ON a.id = c.application_id
           WHERE NOT a.is_archived ORDER BY a.list_key""",
    )
    found = []
    for id, name, stored, held in rows:
        carrier = msgspec.convert(stored, Carrier)
        problem = await connection_problem(db, config, id, carrier.as_source(), CARRYING)
        if problem and carrier.mode is not CarrierMode.OFF:
            found.append(f"{name}: {problem}")
        if held:
            found.append(f"{name}: the brake holds {counted(held, 'request')}")
    return found


async def open_by_state(db: Db) -> dict[str, int]:
    """Count the open requests that carriers have taken up and not finished, by state."""
    rows = await fetch_rows(
        db,
        """SELECT k.state, count(*) FROM carried_requests k
           JOIN access_requests r ON r.id = k.request_id AND r.status = 'Open' WHERE k.state <> 'Done' GROUP BY 1""",
    )
    counts: dict[str, int] = {state: 0 for state in CarriedState if state is not CarriedState.DONE}
    return counts | dict(rows)
