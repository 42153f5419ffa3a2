"""Call each route that writes and check its audit entry. Routes are read from the application, so none is forgotten."""

from typing import Any
from uuid import UUID

import httpx2

from rolecall.app import create_app
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.web.openapi import routes_of
from tests.access_requests.walking import TOMORROW, Cast, a_cast
from tests.application_imports.running import Imports
from tests.builders import an_access_request, an_application, an_import, own_tokens
from tests.duties.separating import Company, a_company, conflict_of
from tests.holdings import an_account

# Routes that change no audited table.
CHANGE_NOTHING = {
    ("POST", "/api/access-requests/preview"),
    ("POST", "/api/personnel-events/preview"),
    ("POST", "/api/access-models/{id}/simulate"),
    ("POST", "/api/duties/{id}/simulate"),
    ("POST", "/api/duty-rules/{id}/simulate"),
    ("POST", "/api/configuration/plan"),
    ("POST", "/api/applications/{id}/carrier/preview"),
    ("POST", "/api/applications/{id}/dry-run"),
    ("POST", "/api/notification-settings/preview"),
    ("POST", "/api/file-shapes/propose"),
    ("POST", "/api/reviews/{id}/preview"),
    ("POST", "/api/reviews/{id}/check"),
}
ROUTES = {
    (route.method, route.path): route
    for route in routes_of(create_app(Config(database_url="postgresql://")).app)
    if route.operation and route.method != "GET"
}
HOOK = {"name": "Tickets", "url": "http://127.0.0.1:9/", "events": ["AccessRequestCreated"]}
MODEL = {"name": "Clerks", "conditions": [[{"field": "department", "operator": "is", "value": "Finance"}]]}
PUSHED = {"kind": "SCIM Push"}
USERS = "Username,Name\nada,Ada Lovelace\n"


# Tables whose changes leave no entry, grouped by reason.
UNGOVERNED = {
    # Rows written by imports. Each import has audit entries of its own.
    "account_versions", "assignments", "group_listings", "group_versions", "groups", "identity_versions",
    "import_rejects", "memberships", "permission_holders", "permission_values", "permission_versions", "permissions",
    "read_progress",
    # Pushed resources. The import that reads them has audit entries.
    "scim_members", "scim_pushes", "scim_resources",
    # Drafts and previews, which have no effect.
    "dry_run_files", "dry_run_rejects", "dry_runs", "previewed_changes", "previews",
    # Tables that are logs themselves.
    "access_request_events", "activity", "import_log", "webhook_attempts", "webhook_deliveries",
    "notification_messages", "review_events",
    # Derived from audited tables.
    "access_model_grants", "access_model_members", "access_model_versions", "application_totals", "list_changes",
    "entitlements", "holder_counts", "conflicts", "duty_entitlements", "duty_groups", "duty_holders",
    "duty_rule_duties", "duty_rule_versions", "past_departures", "past_sides",
    # Items of a review: an entry about the review contains their digest, and decisions are audited.
    "review_item_reasons", "review_items", "review_scopes",
    # Further derived tables, caches and statistics.
    "list_contents", "lists", "matchings", "past_matches", "past_model_members", "past_resolutions", "request_times",
    "request_conflict_people",
    "absences", "stored_pages", "waiting_requests", "webhook_tallies",
    # Queues, notifications and bookkeeping of the service.
    "imports_to_review", "reasons_to_list", "review_news",
    "event_news", "finished_imports", "heartbeats", "idempotency_keys", "identities_to_evaluate",
    "identities_to_match", "migrations", "people_to_recheck",
    "report_firings", "schedule_firings", "schema_files", "sign_in_attempts", "sign_in_mails",
    "notification_channels", "notification_steps", "notification_template_faults", "notifications",
    # Tables of the audit itself.
    "audit_checkpoints", "audit_events", "audit_heads", "audit_pending",
}  # fmt: skip


async def test_every_table_is_audited_or_listed_as_exempt(db: Db) -> None:
    rows = await fetch_rows(
        db,
        """SELECT c.relname FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
           AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid AND tgname IN ('note_update', 'note_pin'))""",
    )

    assert {name for (name,) in rows} == UNGOVERNED


class Calls:
    """Make calls and check that each leaves an audit entry."""

    def __init__(self, client: httpx2.AsyncClient, db: Db) -> None:
        self.client, self.db = client, db
        self.made = set[tuple[str, str]]()

    async def __call__(self, method: str, path: str, id: object = "", json: Any = None, **more: Any) -> dict[str, Any]:
        body = {} if json is None else {"json": json}
        answer = await self.client.request(method, path.replace("{id}", str(id)), **body, **more)
        assert answer.status_code in (200, 201, 204), f"{path}: {answer.text}"
        left = await fetch_value(
            self.db,
            "SELECT count(*) FROM audit_events WHERE entry::jsonb @> jsonb_build_object('correlationId', %(id)s::text,"
            " 'action', %(action)s::text)",
            id=answer.headers["x-correlation-id"],
            action=ROUTES[method, path].operation.function.__name__.replace("_", " ").capitalize(),  # type: ignore[union-attr]
        )
        assert left > 0, f"{method} {path} left no entry"
        self.made.add((method, path))
        is_json = answer.headers.get("content-type") == "application/json"
        answered: dict[str, Any] = answer.json() if is_json else {}
        return answered


async def _carrier(call: Calls, db: Db, directory: UUID, cast: Cast) -> None:
    carrier = {"kind": "SCIM", "url": "http://127.0.0.1:9/scim", "mode": "On"}
    await call("PUT", "/api/applications/{id}/carrier", directory, carrier)
    request = await an_access_request(db, "Remove", application_id=directory, identity_id=cast.ada_id, privileges=[])
    named = {"accessRequestId": str(request)}
    await call("POST", "/api/applications/{id}/carrier/carry-out", directory, named)
    await execute(db, "UPDATE carried_requests SET state = 'Held'")
    await call("POST", "/api/applications/{id}/carrier/release", directory)
    await call("DELETE", "/api/applications/{id}/carrier", directory)


async def _review(call: Calls, client: httpx2.AsyncClient, company: Company) -> None:
    """Review the ledger as its owner, with a call to every route of reviews."""
    scope = {"applicationIds": [str(company.ledger)]}
    draft = {"name": "Ledger", "type": "Application", "dueOn": TOMORROW, "scope": scope}
    review = (await call("POST", "/api/reviews", json=draft))["id"]
    await call("PATCH", "/api/reviews/{id}", review, {"description": "Yearly"})
    await call("POST", "/api/reviews/{id}/open", review)
    first, *others = (await client.get(f"/api/reviews/{review}/items")).json()["items"]
    own = {"reviewerId": first["reviewer"]["id"], "comment": "as agreed"}
    await call("POST", "/api/review-items/{id}/decide", first["id"], {"decision": "Keep", **own})
    await call("POST", "/api/review-items/{id}/undo", first["id"], own)
    await call("POST", "/api/review-items/{id}/decide", first["id"], {"decision": "Revoke", **own})
    handed = {"identityId": str(company.owner), "comment": "She knows it"}
    await call("POST", "/api/review-items/{id}/reassign", others[0]["id"], handed)
    await call("POST", "/api/reviews/{id}/decide", review, {"decision": "Keep", "filters": {}, **own})
    await call("POST", "/api/reviews/{id}/submit", review, own)
    await call("POST", "/api/reviews/{id}/remind", review)
    accepted = {"reason": "Needed", "until": TOMORROW, "identityId": str(company.owner)}
    await make_owner(call.db, company)
    await call("POST", "/api/review-items/{id}/accept", first["id"], accepted)
    last = {"decision": "Keep", "reviewerId": str(company.owner), "comment": "as agreed"}
    await call("POST", "/api/review-items/{id}/decide", others[0]["id"], last)
    await execute(call.db, "UPDATE reviews SET due_on = now(), on_silence = 'approve'")
    await call("POST", "/api/reviews/{id}/close", review, {"confirm": True})
    draft = {**draft, "name": "Again"}
    repeat = {"name": "Quarterly", "everyMonths": 3, "review": {"type": "Application"}}
    template = (await call("POST", "/api/review-templates", json=repeat))["id"]
    await call("PATCH", "/api/review-templates/{id}", template, {"everyMonths": 6})
    await call("DELETE", "/api/review-templates/{id}", template)
    again = (await call("POST", "/api/reviews", json=draft))["id"]
    await call("POST", "/api/reviews/{id}/cancel", again)


async def make_owner(db: Db, company: Company) -> None:
    await execute(
        db,
        "UPDATE applications SET owner_id = %(owner)s WHERE id = %(id)s",
        owner=company.owner,
        id=company.ledger,
    )


async def test_every_route_that_changes_something_leaves_an_entry(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    call = Calls(client, db)
    imports = Imports(client, config)
    cast = await a_cast(db)

    app = (await call("POST", "/api/applications", json={"name": "Payroll"}))["id"]
    await call("PATCH", "/api/applications/{id}", app, {"priority": "Low"})
    crm = await an_application(db, "CRM", schedule={"cron": "0 5 * * *", "locations": {"Users": "/nowhere/users.csv"}})
    run = await imports.finish(crm, {"Users": USERS})
    account = (await imports.items(f"/api/applications/{crm}/accounts"))[0]["id"]
    await call("PUT", "/api/accounts/{id}/match", account, {"identityId": cast.ada})
    await call("DELETE", "/api/accounts/{id}/match", account)
    directory = await an_application(db, "Directory")
    await an_account(db, directory, "ada", None, groups=("Clerks",))
    clerks = await fetch_value(db, "SELECT id FROM entitlements WHERE name = 'Clerks'")
    await call("PATCH", "/api/entitlements/{id}", clerks, {"explanation": "Keep the books."})
    await call("POST", "/api/applications/{id}/rollback", crm, {"importNumber": run["number"]})
    group = (await client.get(f"/api/applications/{crm}")).json()["connector"]["files"][0]["fileGroupId"]
    upload = "/api/application-imports/upload"
    await call("POST", upload, params={"applicationId": str(crm)}, files=[(group, ("users.csv", USERS))])
    staged = (await call("POST", "/api/application-imports/stage", json={"applicationId": str(crm)}))["id"]
    await call("POST", "/api/application-imports/cancel", json={"applicationImportId": staged})
    held = await an_import(db, status="Running")
    await execute(db, "INSERT INTO import_runs (import_id, held) VALUES (%(id)s, 'too much')", id=held)
    await call("POST", "/api/application-imports/{id}/continue", held)

    model = (await call("POST", "/api/access-models", json=MODEL))["id"]
    await call("PATCH", "/api/access-models/{id}", model, {"description": "They keep the books"})
    await call("POST", "/api/access-models/{id}/commit", model)

    hook = (await call("POST", "/api/webhooks", json=HOOK))["id"]
    await call("PATCH", "/api/webhooks/{id}", hook, {"name": "Desk"})
    await call("POST", "/api/webhooks/{id}/rotate-secret", hook)
    delivery = (await call("POST", "/api/webhooks/{id}/test", hook))["id"]
    await call("POST", "/api/webhook-deliveries/{id}/resend", delivery)
    await call("POST", "/webhooks/callback/{id}", delivery, content="done", headers={"Content-Type": "text/plain"})
    await call("POST", "/api/webhooks/{id}/recover", hook, {"since": "2026-01-01"})
    await call("DELETE", "/api/webhooks/{id}", hook)

    live = {"kind": "REST", "url": "http://127.0.0.1:9/", "contents": {"Users": {"path": "users"}}}
    await call("PUT", "/api/applications/{id}/source", directory, live)
    await call("POST", "/api/applications/{id}/source/test", directory)
    await call("DELETE", "/api/applications/{id}/source", directory)
    await call("PUT", "/api/applications/{id}/source", directory, {**PUSHED, "contents": {"Users": {"path": "Users"}}})
    token = await call("POST", "/api/applications/{id}/scim/tokens", directory, {"name": "Okta"})
    await call("DELETE", "/api/scim-tokens/{id}", token["id"])

    await _carrier(call, db, directory, cast)

    saved = {"applicationId": str(crm), "name": "Export"}
    template = (await call("POST", "/api/connector-templates", json=saved))["id"]
    await call("DELETE", "/api/connector-templates/{id}", template)

    report = (await call("POST", "/api/reports", json={"name": "People", "list": "identities"}))["id"]
    await call("PATCH", "/api/reports/{id}", report, {"format": "jsonl"})
    await call("POST", "/api/reports/{id}/run", report)
    await execute(db, "UPDATE reports SET cron = '0 6 * * *', location = '/srv/reports'")
    await call("POST", "/api/reports/{id}/write", report)
    await call("DELETE", "/api/reports/{id}", report)

    company = await a_company(db)
    duty = (await call("POST", "/api/duties", json={"name": "Close books"}))["id"]
    await call("PATCH", "/api/duties/{id}", duty, {"patterns": [{"permission": "Close*"}]})
    apart = {"name": "Prepare and close", "conflicts": [str(company.prepare), duty]}
    rule = (await call("POST", "/api/duty-rules", json=apart))["id"]
    await call("PATCH", "/api/duty-rules/{id}", rule, {"conflicts": [str(company.prepare), str(company.release)]})
    await call("PATCH", "/api/duty-rules/{id}", rule, {"risk": "Low"})
    await execute(db, 'UPDATE duty_rules SET draft = draft || \'{"response": "Approve"}\'')
    await call("POST", "/api/duty-rules/{id}/commit", rule)
    await call("DELETE", "/api/duties/{id}", duty)
    conflict = await conflict_of(db, company.sofia)
    wish = {"reason": "Small team", "control": "Weekly check", "controlOwnerId": cast.grace, "until": TOMORROW}
    await call("POST", "/api/conflicts/{id}/except", conflict, wish)
    # A token cannot approve an exception that it requested, and a token without an owner cannot approve at all.
    await execute(db, "UPDATE conflict_exceptions SET requester_id = %(id)s", id=cast.grace)
    await own_tokens(db, company.owner)
    await call("POST", "/api/conflicts/{id}/approve", conflict, {"approverId": str(company.owner)})
    await execute(db, "UPDATE tokens SET owner_id = NULL")
    await call("POST", "/api/conflicts/{id}/withdraw", conflict)

    await _review(call, client, company)

    await an_account(db, UUID(app), "root", None, permissions=(("Ledger", "Post", "Grant", "Low"),))
    verbs = "/api/access-requests/{id}/"
    asked = {"action": "Add", "applicationId": app, "identityId": cast.ada}
    privileges = [{"header": "Ledger", "permission": "Post", "access": "Grant"}]
    request = (await call("POST", "/api/access-requests", json={**asked, "privileges": privileges}))["id"]
    await call("POST", verbs + "comment", request, {"content": "Soon, please"})
    await call("POST", verbs + "assign", request, {"assigneeId": cast.peter})
    answer = {"type": "Approve", "response": "Approved", "reviewerId": cast.grace}
    await call("POST", verbs + "respond", request, answer)
    await call("POST", verbs + "snooze", request, {"until": TOMORROW})
    await call("POST", verbs + "resume", request)
    await execute(db, "UPDATE applications SET priority = 'High' WHERE id = %(id)s", id=app)
    important = (await call("POST", "/api/access-requests", json={**asked, "privileges": privileges}))["id"]
    await call("POST", verbs + "respond", important, answer)
    await call("POST", verbs + "resolve", important)
    await call("POST", verbs + "reopen", important)
    await call("POST", verbs + "resolve", important)
    await call("POST", verbs + "verify", important)
    await call("POST", verbs + "cancel", request)

    events = "/api/personnel-events/"
    joins = {"identity": {"firstName": "Alan", "lastName": "Kay"}, "effectiveDate": "2035-01-01"}
    await call("POST", events + "onboard", json=joins)
    who = {"identityId": cast.ada, "effectiveDate": "2035-01-01"}
    await call("POST", events + "offboard", json=who)
    await call("POST", events + "role-transition", json={**who, "identity": {"title": "Director"}, "title": "Director"})
    leave = (await call("POST", events + "leave-of-absence", json=who))["id"]
    await call("POST", events + "{id}/assign", leave, {"assigneeId": cast.peter})
    await call("POST", events + "{id}/comment", leave, {"content": "A long one"})
    await call("POST", events + "{id}/return-date", leave, {"endDate": "2036-01-01"})
    await call("POST", events + "{id}/cancel", leave)

    me = (await client.get("/api/tokens")).json()["items"][0]["id"]
    await own_tokens(db, UUID(cast.grace), UUID(me))
    own = (await client.get("/api/notifications")).json()["items"][0]["id"]
    await call("PATCH", "/api/notifications/{id}", own, {"isRead": True})
    await call("POST", "/api/notifications/read")
    choice = {"kind": "Waiting", "rhythm": "Digest"}
    await call("PATCH", "/api/notification-preferences", json={"kinds": [choice]})
    await call("PATCH", "/api/notification-settings", json={"email": {"transport": "Outbox"}})
    await call("POST", "/api/notification-settings/test", json={"address": "ada@example.com"})
    await execute(db, "UPDATE notification_messages SET outcome = 'sent'")
    sent = (await client.get("/api/notification-messages")).json()["items"][0]["id"]
    report = f"Content-Type: message/delivery-status\n\nAction: failed\nMessage-ID: <{sent}@x.example>\n"
    await call("POST", "/api/notification-messages/bounce", json={"mail": report})

    away = {"identityId": cast.grace, "standInId": cast.peter, "endsOn": TOMORROW}
    stand_in = (await call("POST", "/api/stand-ins", json=away))["id"]
    await call("DELETE", "/api/stand-ins/{id}", stand_in)

    await call("PATCH", "/api/settings", json={"approvalLeadDays": 9})
    await call("PUT", "/api/configuration", json={"settings": {"approvalLeadDays": 8}})
    token = (await call("POST", "/api/tokens", json={"name": "second"}))["id"]
    await call("DELETE", "/api/tokens/{id}", token)

    assert call.made == ROUTES.keys() - CHANGE_NOTHING
