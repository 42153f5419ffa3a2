"""Test the matrix of duties: how many people hold two duties that rules keep apart."""

import httpx2

from rolecall.conflicts import overview
from rolecall.core.db import Db
from tests.duties.separating import a_company, a_duty, a_rule


async def test_riskier_rule_without_conflicts_does_not_hide_conflicts_of_another_rule(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    await client.patch(f"/api/duty-rules/{company.rule}", json={"risk": "Low"})
    await client.post(f"/api/duty-rules/{company.rule}/commit")
    # Sofia holds the control duty.
    post, review = await a_duty(db, "Post", {"group": "Posters"}), await a_duty(db, "Review", {"group": "Juniors"})
    three = company.prepare, company.release, post
    await a_rule(db, "Three", *three, risk="Critical", without=str(review))

    matrix = await overview.matrix(db)

    cells = {(cell.rule, cell.open) for cell in matrix.cells.values()}
    assert cells == {("Prepare and release", 1), ("Three", 0)}
