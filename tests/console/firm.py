"""Create a firm in which each person has at most one relation to the records, for tests of authorization."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.conflicts import actions as conflicts
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.personnel_events import actions as events
from tests.builders import an_access_model, an_access_request, an_application, an_identity, facts
from tests.console.company import FILES, upload
from tests.duties.separating import a_duty, a_rule
from tests.stand_ins.standing_in import a_stand_in
from tests.working import let_the_worker_work


class Firm(msgspec.Struct):
    """The people and records of the firm.

    Ada reports to Grace, who reports to Rosa. Olga owns Payroll, its model and a rule; Peter provisions Payroll. Nils
    must approve the request. Dora stands in for Nils and Vera for Olga; Sam has no relation to any record.
    """

    people: dict[str, UUID]
    ids: dict[str, object]


async def a_firm(db: Db, config: Config) -> Firm:
    rosa = await an_identity(db, "Rosa", "Far", email="rosa@example.com")
    grace = await an_identity(db, "Grace", "Near", email="grace@example.com", supervisorId=str(rosa))
    ada = await an_identity(db, "Ada", "Own", email="ada@example.com", supervisorId=str(grace))
    olga, vera, peter, nils, dora, sam = [
        await an_identity(db, name, "Else") for name in ("Olga", "Vera", "Peter", "Nils", "Dora", "Sam")
    ]
    application = await an_application(
        db, "Payroll", ownerId=str(olga), provisionerIds=[str(peter)], guard={"minCount": 1}
    )
    clerk = Caller(UUID(int=5), "Clerk", frozenset(Scope))
    run = await upload(db, config, clerk, application, FILES)
    await let_the_worker_work(config)
    access = [{"applicationId": str(application), "groups": ["Clerks"]}]
    model = await an_access_model(db, "Clerks", access=access, ownerId=str(olga))
    request = await an_access_request(db, application_id=application, identity_id=ada)
    await execute(db, "UPDATE accounts SET identity_id = NULL")
    await execute(
        db,
        "UPDATE responses SET reviewer_id = %(nils)s, reviewer_name = 'Nils Else' WHERE reviewer_id = %(grace)s",
        nils=nils,
        grace=grace,
    )
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    apart = [await a_duty(db, name) for name in ("Post", "Approve")]
    rule = await a_rule(db, "Post and approve", *apart, ownerId=str(olga))
    conflict = await fetch_value(
        db,
        """INSERT INTO conflicts (rule_id, identity_id, since, found_on) VALUES (%(rule)s, %(ada)s, now(), now())
           RETURNING id""",
        rule=rule,
        ada=ada,
    )
    asked = {"reason": "Leave", "control": "Checked", "controlOwnerId": str(olga), "until": tomorrow}
    await conflicts.request_exception(db, clerk, str(conflict), asked, facts())
    event = await events.begin_absence(db, clerk, {"identityId": str(ada), "effectiveDate": tomorrow}, facts())
    values = {
        "accounts": "SELECT id FROM accounts LIMIT 1",
        "access": "SELECT id FROM entitlements WHERE kind = 'Group' LIMIT 1",
        "files": "SELECT id FROM import_files LIMIT 1",
    }
    found = {name: await fetch_value(db, query) for name, query in values.items()}
    away = await a_stand_in(db, nils, dora)
    await a_stand_in(db, olga, vera)
    people = {"self": ada, "supervisor": grace, "far": rosa, "owner": olga, "provisioner": peter, "asked": nils}
    people["owner's stand-in"] = vera
    ids = {"identities": ada, "requests": request, "events": event, "applications": application, "imports": run}
    ids["stand-ins"] = away.id
    ids["conflicts"] = conflict
    ids["reviews"], ids["review-items"] = await _a_review_for(db, nils, application)
    return Firm({**people, "stand-in": dora, "stranger": sam}, {**ids, **found, "access-models": model})


async def _a_review_for(db: Db, reviewer: UUID, application: UUID) -> tuple[UUID, UUID]:
    """Open a review with one item, which this person reviews; return the ids of both."""
    review: UUID = await fetch_value(
        db,
        """INSERT INTO reviews (id, name, type, status, stages, due_on, explained, on_silence, statement, created_by,
                                created_at, opened_on, digest, item_count)
           VALUES (gen_random_uuid(), 'Payroll', 'Application', 'Open', '[{"reviewer": "Application Owner"}]',
                   now() + interval '9 days', 'each', 'escalate', 'Reviewed', 'Clerk', now(), now(), 'x', 1)
           RETURNING id""",
    )
    item: UUID = await fetch_value(
        db,
        """INSERT INTO review_items (review_id, subject, application_id, account_number, entitlement_id, reviewer_id,
                                     access, since_import, list_key)
           SELECT %(review)s, 'Access', %(application)s, a.number, e.id, %(reviewer)s, 'Grant', 1, '1'
           FROM accounts a, entitlements e WHERE e.kind = 'Group' LIMIT 1 RETURNING id""",
        review=review,
        application=application,
        reviewer=reviewer,
    )
    return review, item
