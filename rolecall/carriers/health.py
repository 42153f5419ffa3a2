"""Find carriers that cannot work with the settings of this process, without connecting to them."""

import importlib.util
from uuid import UUID

import msgspec

from rolecall.carriers.model import CARRYING, CarriedState, Carrier, CarrierKind, CarrierMode
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows
from rolecall.sources.kinds import host_of, origin_of
from rolecall.sources.ldap import NOT_INSTALLED
from rolecall.sources.model import SourceFailed
from rolecall.sources.peers import listing_problem
from rolecall.sources.secrets import find_secret


async def problems(db: Db, config: Config) -> list[str]:
    """Return what is wrong with each carrier that is not off, and how many requests its brake holds."""
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
        if carrier.mode is not CarrierMode.OFF and (problem := await _problem(db, config, id, carrier)):
            found.append(f"{name}: {problem}")
        if held:
            found.append(f"{name}: the brake holds {held:,} requests")
    return found


async def open_by_state(db: Db) -> dict[str, int]:
    """Count the open requests that carriers took up and have not carried out."""
    rows = await fetch_rows(
        db,
        """SELECT k.state, count(*) FROM carried_requests k
           JOIN access_requests r ON r.id = k.request_id AND r.status = 'Open' WHERE k.state <> 'Done' GROUP BY 1""",
    )
    counts: dict[str, int] = {state: 0 for state in CarriedState if state is not CarriedState.DONE}
    return counts | dict(rows)


async def _problem(db: Db, config: Config, id: UUID, carrier: Carrier) -> str | None:
    host = host_of(carrier.url)
    if problem := listing_problem(host, config.source_hosts):
        return problem
    if carrier.kind is CarrierKind.LDAP and importlib.util.find_spec("bonsai") is None:
        return NOT_INSTALLED
    try:
        await find_secret(db, config, carrier.secret_ref, id, CARRYING, origin_of(carrier.url))
    except SourceFailed as failed:
        return str(failed)
    return None
