"""Test that a configuration takes its locks in the order of other transactions."""

from uuid import UUID

from rolecall.configuration.actions import apply_configuration
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value, make_pool
from tests.builders import an_access_model, an_application, facts
from tests.duties.separating import a_duty
from tests.interleaving import Crew

CLERK = Caller(UUID(int=5), "Clerk", frozenset(Scope))


async def test_configuration_does_not_deadlock_with_an_import_of_people(db: Db, config: Config) -> None:
    """An import changes identities, for which it locks access models, and then matches accounts."""
    await an_application(db, "Payroll")
    await an_access_model(db, "Clerks")
    await a_duty(db, "Post", {"group": "Posters"})
    body = {
        "applications": [{"name": "Payroll", "isArchived": True}],
        "accessModels": [{"name": "Clerks", "description": "New"}],
    }

    async def apply(db: Db) -> None:
        await apply_configuration(db, CLERK, body, facts(), config)

    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        async with pool.connection() as importing, importing.transaction():
            await execute(importing, "SELECT pg_advisory_xact_lock_shared(access_model_lock())")
            await crew.begin(apply)
            await execute(importing, "SELECT lock_matching()")
        await crew.end()

    assert await fetch_value(db, "SELECT is_archived FROM applications")
