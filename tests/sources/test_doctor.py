"""Test that the doctor finds problems of sources, with advice, without connecting to them."""

import httpx2
import msgspec

from rolecall.core.config import AllowedHosts, Config
from rolecall.core.db import Db, execute
from rolecall.operate import doctor
from rolecall.operate.check_results import CheckState
from tests.scim_server.pushing import a_push
from tests.sources.rest_server import CONTENTS
from tests.sources.sourcing import Sourcing


async def checked(db: Db, config: Config) -> tuple[CheckState, str]:
    (found,) = [each for each in await doctor.examine(db, config) if each.check == "live sources"]
    return found.state, found.detail


async def test_sources_are_checked_without_connecting(sourcing: Sourcing, db: Db, config: Config) -> None:
    assert (await checked(db, config))[0] is CheckState.OK
    await sourcing.put("http://127.0.0.1:9/", CONTENTS["None"], authentication="Bearer", secret="x")
    assert (await checked(db, config))[0] is CheckState.OK

    bare = msgspec.structs.replace(config, source_hosts=AllowedHosts())

    assert await checked(db, bare) == (
        CheckState.TROUBLE,
        "Live: 127.0.0.1 is not in ROLECALL_SOURCE_HOSTS; an operator must add it",
    )


async def test_missing_secret_is_reported(sourcing: Sourcing, db: Db, config: Config) -> None:
    await sourcing.put("http://127.0.0.1:9/", CONTENTS["None"], authentication="Bearer", secretRef="file:hr")

    state, detail = await checked(db, config)

    assert state is CheckState.TROUBLE
    assert "the secret hr in ROLECALL_SOURCE_SECRETS cannot be read" in detail


async def test_expiring_scim_tokens_are_reported(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    push = await a_push(client, db)

    async def pushes() -> str:
        return next(each.detail for each in await doctor.examine(db, config) if each.check == "SCIM pushes")

    assert await pushes() == "their tokens are valid for a month or more"
    await execute(db, "UPDATE scim_tokens SET expires_at = '2020-01-02'")
    assert await pushes() == "Payroll: the last token expired on 2020-01-02"
    await client.delete(f"/api/applications/{push.id}/source")
    assert await pushes() == "their tokens are valid for a month or more"
