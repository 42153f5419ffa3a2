"""Provide a company with access, and an open review of it."""

from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from rolecall.core.db import Db
from rolecall.reviews import actions
from tests.builders import facts
from tests.console.reviews.reviewed import CLERK
from tests.reviews.company import Reviewed, a_reviewed_company


@pytest.fixture
async def company(administrator: httpx2.AsyncClient, db: Db) -> Reviewed:
    return await a_reviewed_company(db)


@pytest.fixture
async def review(company: Reviewed, db: Db) -> str:
    due = (datetime.now(UTC) + timedelta(days=14)).isoformat()
    async with db.transaction():
        draft = await actions.create_review(
            db, CLERK, {"name": "Finance systems", "type": "Supervisor", "dueOn": due}, facts()
        )
        await actions.open_review(db, CLERK, draft.id, facts().now)
    return str(draft.id)
