"""Test that doctor and metrics report carriers that cannot work and requests that wait for a person."""

import httpx2
import msgspec

from rolecall.core.config import AllowedHosts, Config
from rolecall.core.db import Db
from rolecall.operate import doctor
from rolecall.operate.check_results import CheckState
from tests.carriers.carrying import SCIM, Carrying

URL = "http://127.0.0.1:9/scim/v2"


async def checked(db: Db, config: Config) -> tuple[CheckState, str]:
    (found,) = [each for each in await doctor.examine(db, config) if each.check == "carriers"]
    return found.state, found.detail


async def test_carriers_are_checked_without_connecting(carrying: Carrying, db: Db, config: Config) -> None:
    await carrying.put(URL, SCIM)
    assert (await checked(db, config))[0] is CheckState.OK
    bare = msgspec.structs.replace(config, source_hosts=AllowedHosts())

    assert await checked(db, bare) == (
        CheckState.TROUBLE,
        "Ledger: 127.0.0.1 is not in ROLECALL_SOURCE_HOSTS; an operator must add it",
    )


async def test_held_requests_are_reported(carrying: Carrying, client: httpx2.AsyncClient, config: Config) -> None:
    await carrying.put(URL, SCIM, removalsPerHour=0)
    await carrying.request("Remove", await carrying.account("ada"), target_name="ada", privileges=[])
    await carrying.work()

    assert await checked(carrying.db, config) == (CheckState.TROUBLE, "Ledger: the brake holds 1 request")
    assert 'carrier_requests{state="Held"} 1' in (await client.get("/metrics", headers={"Host": "localhost"})).text
