"""Test the workspace of a reviewer: decisions, by item and in bulk, undo and submission."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx2

from rolecall.console import actions as console
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.roles import Role
from tests.console.reviews.reviewed import items_for, revoke_as_carla
from tests.console.test_matrix import sign_in
from tests.reviews.company import Reviewed


async def test_supervisor_without_a_role_decides_undoes_and_submits(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    work = f"/reviews/{review}/work"
    first, second, third = await items_for(db, review, "Carla")

    listed = await visitor.get("/reviews")
    page = await visitor.get(work)
    await visitor.post(f"/review-items/{first}/decide", data={"decision": "Keep", "comment": "Needed", "back": work})
    undone = await visitor.post(f"/review-items/{first}/undo", data={"back": work})
    status = await fetch_value(db, "SELECT status FROM review_items WHERE id = %(id)s", id=first)
    several = {"id": [first, second], "decision": "Keep", "comment": "Needed", "back": work}
    await visitor.post(f"/reviews/{review}/decide", data=several)
    await visitor.post(f"/review-items/{third}/decide", data={"decision": "Revoke", "comment": "Not needed"})
    statement = await visitor.get(f"/reviews/{review}/submit")
    unsigned = await visitor.post(f"/reviews/{review}/submit", data={})
    submitted = await visitor.post(f"/reviews/{review}/submit", data={"signed": "yes"})

    assert f'href="{work}"' in listed.text
    assert page.text.count('class="item') == 3
    assert "Joana Moreau" in page.text
    assert undone.headers["location"] == work
    assert status == "Pending"
    assert "1 request will be made" in statement.text
    assert unsigned.headers["location"].endswith("/submit")
    assert submitted.headers["location"] == f"{work}?tab=all"
    assert await fetch_value(db, "SELECT count(*) FROM review_submissions") == 1
    assert await fetch_value(db, "SELECT count(*) FROM access_requests") == 1
    await console.set_role(db, company.owen, Role.OPERATOR)
    await sign_in(visitor, db, company.owen)
    request = await fetch_value(db, "SELECT id FROM access_requests")
    assert f'href="/review-items/{third}"' in (await visitor.get(f"/requests/{request}")).text


async def test_workspace_names_each_person_and_account_once(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)

    page = (await visitor.get(f"/reviews/{review}/work")).text

    assert len(re.findall("data-id", page.partition("</tbody>")[0])) == 3
    assert (page.count('<tr class="person">'), page.count('<tr class="app">')) == (2, 2)


async def test_all_holders_of_an_entitlement_can_be_decided_at_once_with_exceptions(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    work = f"/reviews/{review}/work?by=access"
    entitlement = await fetch_value(db, "SELECT id::text FROM entitlements WHERE name = 'Bookkeeper'")
    emre = await fetch_value(db, "SELECT id::text FROM review_items WHERE identity_id = %(id)s", id=company.emre)

    overview = await visitor.get(work)
    holders = await visitor.get(f"{work}&entitlementId={entitlement}")
    shown = await items_for(db, review, "Carla")
    form = {"entitlementId": entitlement, "shown": shown, "except": emre, "decision": "Keep", "comment": "Needed"}
    await visitor.post(f"/reviews/{review}/decide", data=form)

    assert "Decide 2" in overview.text
    assert [name in holders.text for name in ("Joana Moreau", "Emre Berg", "Carla Abadi")] == [True, True, True]
    rows = await fetch_rows(
        db,
        """SELECT p.first_name, i.status FROM review_items i JOIN identities p ON p.id = i.identity_id
           WHERE i.entitlement_id = %(id)s ORDER BY 1""",
        id=entitlement,
    )
    assert rows == [("Emre", "Pending"), ("Joana", "Approved")]


async def test_bulk_decision_that_excepts_every_holder_is_refused(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    work = f"/reviews/{review}/work?by=access"
    await db.execute("UPDATE review_items SET recommendation = 'Revoke' WHERE review_id = %s", (review,))
    entitlement = await fetch_value(db, "SELECT id::text FROM entitlements WHERE name = 'Bookkeeper'")
    holders = await items_for(db, review, "Carla")

    page = await visitor.get(f"{work}&entitlementId={entitlement}")
    excepted = {"entitlementId": entitlement, "shown": holders, "except": holders, "decision": "Revoke", "back": work}
    refused = await visitor.post(f"/reviews/{review}/decide", data=excepted)
    said = await visitor.get(refused.headers["location"])

    assert 'name="except"' in page.text
    assert "checked" not in page.text
    assert refused.headers["location"] == f"{work}&entitlementId={entitlement}"
    assert "No item is left to decide: the holders are ticked as exceptions" in said.text


async def test_only_undecided_items_can_be_grouped_by_access(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    first, *_ = await items_for(db, review, "Carla")
    await visitor.post(f"/review-items/{first}/decide", data={"decision": "Keep", "comment": "Needed"})

    kept = await visitor.get(f"/reviews/{review}/work?by=access&tab=kept")
    grouped = await visitor.get(f"/reviews/{review}/work?by=access&reason=Unused")

    assert f'data-id="{first}"' in kept.text
    assert "Keep recommended" in grouped.text
    assert 'name="reason"' not in grouped.text


async def test_statement_counts_the_requests_that_keep_until_decisions_create(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    until = (datetime.now(UTC) + timedelta(days=60)).date().isoformat()
    kept, *others = await items_for(db, review, "Carla")
    decision = {"decision": "Keep Until", "until": until, "comment": "Until the project ends"}
    await visitor.post(f"/review-items/{kept}/decide", data=decision)
    await visitor.post(f"/reviews/{review}/decide", data={"id": others, "decision": "Keep", "comment": "Needed"})

    statement = await visitor.get(f"/reviews/{review}/submit")
    await visitor.post(f"/reviews/{review}/submit", data={"signed": "yes"})

    assert "1 request will be made" in statement.text
    assert await fetch_value(db, "SELECT count(*) FROM access_requests") == 1


async def test_item_without_a_recommendation_has_no_preselected_decision(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, *_ = await items_for(db, review, "Carla")
    await db.execute("UPDATE review_items SET recommendation = NULL WHERE id = %s", (first,))
    await sign_in(visitor, db, company.carla)

    page = await visitor.get(f"/reviews/{review}/work?selected={first}")

    assert 'data-choice="a" required' in page.text
    assert "checked" not in page.text.partition('id="detail"')[2]


async def test_reviewer_sees_only_own_items(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    [of_greta] = await items_for(db, review, "Greta")
    await sign_in(visitor, db, company.carla)

    others = [
        await visitor.get(f"/reviews/{review}/work?reviewerId={company.greta}"),
        await visitor.get(f"/review-items/{of_greta}"),
        await visitor.post(f"/review-items/{of_greta}/decide", data={"decision": "Keep"}),
        await visitor.get(f"/export/my-review-items?id={review}&reviewerId={company.greta}&format=csv"),
        await visitor.get(f"/export/review-items?id={review}&format=csv"),
    ]
    own = await visitor.get(f"/export/my-review-items?id={review}&format=csv")
    page = await visitor.get(f"/reviews/{review}")

    assert [answer.status_code for answer in others] == [404, 404, 404, 404, 403]
    assert len(own.text.splitlines()) == 4
    assert ("Carla Abadi" in page.text, "Greta Das" in page.text) == (True, False)


async def test_decision_against_the_recommendation_needs_a_comment(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, *_ = await items_for(db, review, "Carla")
    await db.execute("UPDATE review_items SET recommendation = 'Revoke' WHERE id = %s", (first,))
    await sign_in(visitor, db, company.carla)

    refused = await visitor.post(f"/review-items/{first}/decide", data={"decision": "Keep"})
    page = await visitor.get(f"/reviews/{review}/work?selected={first}&decide=Keep")

    assert refused.status_code == 303
    assert "required to keep, because the recommendation is Revoke" in unescape(page.text)
    assert re.search(r'value="Keep" data-choice="a" checked', page.text)
    assert await fetch_value(db, "SELECT count(*) FROM review_decisions") == 0


async def test_only_items_whose_details_were_opened_are_marked_as_read(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, second, third = await items_for(db, review, "Carla")
    await sign_in(visitor, db, company.carla)

    await visitor.get(f"/reviews/{review}/work")
    await visitor.get(f"/reviews/{review}/work?selected={second}")
    # The script fetches the next item while this one is read.
    ahead = {"HX-Target": "detail", "Purpose": "prefetch"}
    fetched = await visitor.get(f"/reviews/{review}/work?selected={third}", headers=ahead)

    rows = await fetch_rows(db, "SELECT id::text FROM review_items WHERE read_on IS NOT NULL")
    assert rows == [(second,)]
    assert first != second
    assert f'data-id="{third}"' in fetched.text


async def test_workspace_explains_that_a_person_is_not_a_reviewer(
    administrator: httpx2.AsyncClient, company: Reviewed, review: str
) -> None:
    own = await administrator.get(f"/reviews/{review}/work")
    other = await administrator.get(f"/reviews/{review}/work?reviewerId={company.emre}")

    assert "You are not a reviewer of this review" in own.text
    assert "Emre Berg is not a reviewer of this review" in other.text
    assert "0 of 0" not in own.text


async def test_malformed_ids_in_a_bulk_decision_are_not_found(
    administrator: httpx2.AsyncClient, company: Reviewed, review: str
) -> None:
    answer = await administrator.post(f"/reviews/{review}/decide", data={"entitlementId": "zzz", "decision": "Keep"})

    assert answer.status_code == 404


async def test_passed_on_item_says_who_decides_and_that_it_cannot_be_undone(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, *_ = await items_for(db, review, "Carla")
    await sign_in(visitor, db, company.carla)
    work = f"/reviews/{review}/work"

    await visitor.post(f"/review-items/{first}/decide", data={"decision": "Unsure", "back": work})
    page = (await visitor.get(work)).text

    name = await fetch_value(
        db,
        """SELECT p.first_name || ' ' || p.last_name FROM review_items i JOIN identities p ON p.id = i.reviewer_id
           WHERE i.id = %(id)s""",
        id=first,
    )
    assert f"was passed on to {name}, who decides now. This cannot be undone." in page
    assert "You can undo it" not in page
    assert "1 item passed on; other people decide it now" in page
    assert f"<strong>{name}</strong> decides, since" in page


async def test_undo_reverts_the_whole_bulk_decision(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, second, third = await items_for(db, review, "Carla")
    await sign_in(visitor, db, company.carla)
    work = f"/reviews/{review}/work"
    undecided = "SELECT count(*) FROM review_items WHERE status = 'Pending' AND id = ANY(%(ids)s::uuid[])"

    await visitor.post(f"/review-items/{third}/decide", data={"decision": "Revoke", "comment": "x", "back": work})
    one = (await visitor.get(work)).text
    both = {"id": [first, second], "decision": "Keep", "comment": "Needed", "back": work}
    await visitor.post(f"/reviews/{review}/decide", data=both)
    page = (await visitor.get(work)).text
    last = re.search(r'id="undo-last" method="post" action="([^"]+)"', page)
    assert last
    await visitor.post(last[1], data={"together": "yes", "back": work})
    after = (await visitor.get(work)).text

    assert f'action="/review-items/{third}/undo"' in one
    assert "2 items were kept. You can undo them until you submit." in page
    assert "Undo the last 2 decisions" in page
    assert page.count('form="undo-last">Undo') == 1
    assert "2 decisions were undone" in after
    assert f'action="/review-items/{third}/undo"' in after
    assert await fetch_value(db, undecided, ids=[first, second, third]) == 2


async def test_refused_decision_keeps_the_choice(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, *_ = await items_for(db, review, "Carla")
    await db.execute("UPDATE review_items SET recommendation = 'Revoke' WHERE id = %s", (first,))
    await sign_in(visitor, db, company.carla)
    here = f"/reviews/{review}/work?selected={first}"

    refused = await visitor.post(f"/review-items/{first}/decide", data={"decision": "Not Mine", "here": here})
    page = (await visitor.get(refused.headers["location"])).text

    assert refused.headers["location"] == f"{here}&decide=Not%20Mine"
    assert "say why the item is not yours" in page
    assert 'value="Not Mine" data-choice="n" checked' in page


async def test_bulk_decision_names_the_items_that_need_a_comment(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, second, _ = await items_for(db, review, "Carla")
    await db.execute("UPDATE review_items SET recommendation = NULL")
    await db.execute("UPDATE review_items SET recommendation = 'Revoke' WHERE id = %s", (first,))
    number = await fetch_value(db, "SELECT number FROM review_items WHERE id = %(id)s", id=first)
    await sign_in(visitor, db, company.carla)

    await visitor.post(f"/reviews/{review}/decide", data={"id": [first, second], "decision": "Keep"})
    page = (await visitor.get(f"/reviews/{review}/work")).text

    assert "✓ 1 item was kept." in page
    assert f"✗ #{number} " in page
    assert "needs a comment, because Revoke is recommended" in page


async def test_change_offers_only_lower_levels_and_only_for_permissions(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    rows = await fetch_rows(
        db,
        """SELECT i.id, e.kind FROM review_items i JOIN entitlements e ON e.id = i.entitlement_id
           JOIN identities p ON p.id = i.reviewer_id WHERE p.first_name = 'Carla'""",
    )
    await db.execute("UPDATE review_items SET access = 'Modify'")
    await sign_in(visitor, db, company.carla)

    pages = {kind: (await visitor.get(f"/review-items/{id}")).text for id, kind in rows}

    assert 'data-choice="c"' not in pages["Group"]
    assert "Lower the access from Modify to" in pages["Permission"]
    options = pages["Permission"].partition('<select id="access"')[2].partition("</select>")[0]
    assert re.findall(r"<option>(\w+)", options) == ["Grant"]


async def test_holders_that_were_not_shown_are_not_decided_with_the_others(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    """Emre's item is reassigned to the reviewer after the page with the holders was opened."""
    await sign_in(visitor, db, company.carla)
    entitlement = await fetch_value(db, "SELECT id::text FROM entitlements WHERE name = 'Bookkeeper'")
    emre = await fetch_value(db, "SELECT id::text FROM review_items WHERE identity_id = %(id)s", id=company.emre)
    await db.execute("UPDATE review_items SET reviewer_id = %s WHERE id = %s", (company.greta, emre))
    page = (await visitor.get(f"/reviews/{review}/work?by=access&entitlementId={entitlement}")).text
    await db.execute("UPDATE review_items SET reviewer_id = %s WHERE id = %s", (company.carla, emre))

    shown = re.findall(r'name="shown" value="([^"]+)"', page)
    form = {"entitlementId": entitlement, "shown": shown, "decision": "Keep", "comment": "Needed"}
    await visitor.post(f"/reviews/{review}/decide", data=form)

    rows = await fetch_rows(
        db,
        """SELECT p.first_name, i.status FROM review_items i JOIN identities p ON p.id = i.identity_id
           WHERE i.entitlement_id = %(id)s ORDER BY 1""",
        id=entitlement,
    )
    assert rows == [("Emre", "Pending"), ("Joana", "Approved")]


async def test_refused_bulk_decision_names_no_items_of_others(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, *_ = await items_for(db, review, "Carla")
    other, *_ = await items_for(db, review, "Greta")
    await db.execute("UPDATE review_items SET recommendation = 'Revoke'")
    number = await fetch_value(db, "SELECT number FROM review_items WHERE id = %(id)s", id=other)
    await sign_in(visitor, db, company.carla)

    await visitor.post(f"/reviews/{review}/decide", data={"id": [first, other], "decision": "Keep"})
    page = (await visitor.get(f"/reviews/{review}/work")).text

    assert "needs a comment, because Revoke is recommended" in page
    assert f"#{number} " not in page


async def test_tabs_count_the_items_that_they_list(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    """Access that was removed is listed among all items, no longer among the flagged ones."""
    mine = await revoke_as_carla(visitor, db, company, review)
    await db.execute("UPDATE review_items SET status = 'Remediated', remediated_on = now() WHERE id = %s", (mine[0],))

    page = (await visitor.get(f"/reviews/{review}/work?tab=flagged")).text

    assert page.count('class="item') == 2
    assert re.search(r"Flagged\s*<span[^>]*>2<", page)
