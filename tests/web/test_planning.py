import pytest

from rolecall.app import create_app
from rolecall.core.config import Config
from rolecall.core.db import fetch_value, make_pool
from rolecall.web.services import Services


@pytest.mark.usefixtures("clean_database")
async def test_requests_use_generic_plans_and_workers_let_postgresql_choose(config: Config) -> None:
    services: Services = create_app(config).app.state.services
    found = []
    for pool in (services.pool, make_pool(config)):
        async with pool, pool.connection() as db:
            found.append(await fetch_value(db, "SHOW plan_cache_mode"))

    assert found == ["force_generic_plan", "auto"]
