"""Create a small company with a record of every kind, so that every screen has data to show."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.application_imports import actions as imports
from rolecall.applications import queries as applications
from rolecall.conflicts import actions as conflicts
from rolecall.console import actions as console
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from rolecall.core.files import Upload, UploadedFile, Writing
from rolecall.core.roles import Role
from rolecall.duties import actions as duties
from rolecall.file_shapes import drafts
from rolecall.personnel_events import actions as events
from rolecall.reports import actions as reports
from rolecall.reviews import actions as reviews
from rolecall.reviews import templates
from rolecall.webhooks import actions as webhooks
from tests.builders import a_token, an_access_model, an_access_request, an_application, an_identity, facts
from tests.duties.separating import a_duty, a_rule
from tests.working import let_the_worker_work

USERS = "Username,Name,Email,Employee ID\nada,Ada Lovelace,ada@example.com,1\nbob,Bob Stone,bob@example.com,2\nx,,,\n"
GROUPS = "Group,Description\nClerks,Those who post\n"
MEMBERSHIPS = "Username,Group\nada,Clerks\n"
PERMISSIONS = "Group,Header,Permission,Access,Risk Rating\nClerks,Ledger,Post entries,Grant,High\n"
FILES = {"Users": USERS, "Groups": GROUPS, "Memberships": MEMBERSHIPS, "Permissions": PERMISSIONS}


class Company(msgspec.Struct):
    """A sample company.

    `ids` has one id for each kind of record, keyed by the path segment before the placeholder, such as `applications`.
    """

    administrator: UUID
    ids: dict[str, object]


async def a_company(db: Db, config: Config, email: str = "ada.admin@example.com") -> Company:
    boss = await an_identity(db, "Grace", "Hopper", email="grace@example.com")
    ada = await an_identity(
        db, "Ada", "Lovelace", email="ada@example.com", supervisorId=str(boss), department="Finance"
    )
    await console.create_administrator(db, email, facts())
    me: UUID = await fetch_value(db, "SELECT identity_id FROM console_roles WHERE role = 'Administrator' LIMIT 1")
    await console.set_role(db, boss, Role.REVIEWER)
    application = await an_application(
        db, "Payroll", ownerId=str(me), provisionerIds=[str(me)], priority="High", guard={"minCount": 1}
    )
    caller = Caller(me, "Ada Admin", frozenset(Scope))
    run = await upload(
        db,
        config,
        caller,
        application,
        {"Users": USERS, "Groups": GROUPS, "Memberships": MEMBERSHIPS, "Permissions": PERMISSIONS},
    )
    await let_the_worker_work(config)
    model = await an_access_model(db, access=[{"applicationId": str(application), "groups": ["Clerks"]}])
    drafted = await an_access_model(db, "Drafts", committed=False)
    hook, _ = await webhooks.create_hook(
        db,
        {"name": "Tickets", "url": "https://hooks.example.com/in", "events": ["AccessRequestCreated"]},
        facts(),
        config,
    )
    request = await an_access_request(db, application_id=application, identity_id=ada)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    onboarding = {"identity": {"firstName": "Joan", "lastName": "Clarke", "department": "Finance"}}
    event = await events.onboard(db, caller, {**onboarding, "effectiveDate": tomorrow}, facts())
    await let_the_worker_work(config)
    token = await a_token(db, "reporting")
    report = await reports.create_report(db, caller, {"name": "All people", "list": "identities"}, facts(), config)
    form = await a_form(config, {"files": ("operators.csv", "Opr ID,Sts,Roles\nada,Active,Teller;Wire\nbob,Q,\n")})
    async with db.transaction():
        draft = await drafts.draft_upload(db, caller, None, {"name": "CoreBank"}, form, facts().now, config.store)
    duty, rule, conflict = await a_conflict(db, ada, boss)
    review = await an_open_review(db, caller)
    later = (datetime.now(UTC) + timedelta(days=60)).isoformat()
    repeated = {"name": "Every quarter", "everyMonths": 3, "nextOn": later, "review": {"type": "Supervisor"}}
    template = await templates.create_template(db, repeated, facts())
    item = await fetch_value(db, "SELECT id FROM review_items WHERE review_id = %(id)s LIMIT 1", id=review)
    account = await fetch_value(db, "SELECT id FROM accounts WHERE username = 'ada'")
    entitlement = await fetch_value(db, "SELECT id FROM entitlements WHERE kind = 'Group' LIMIT 1")
    delivery = await fetch_value(db, "SELECT id FROM webhook_deliveries ORDER BY number LIMIT 1")
    file = await fetch_value(db, "SELECT id FROM import_files WHERE import_id = %(id)s LIMIT 1", id=run)
    return Company(
        me,
        {
            "identities": ada, "people": boss, "applications": application, "imports": run, "files": file,
            "access-models": model, "model-drafts": drafted, "drafts": draft, "webhooks": hook, "requests": request,
            "events": event,
            "tokens": token.id, "audit": 1, "accounts": account, "deliveries": delivery,
            "access": entitlement, "reports": report, "duties": duty, "rules": rule, "conflicts": conflict,
            "templates": "waiting", "reviews": review, "review-items": item,
            "review-templates": template.id,
        },
    )  # fmt: skip


async def an_open_review(db: Db, caller: Caller) -> UUID:
    """Open a review of all access; the owners of the applications are its reviewers."""
    due = (datetime.now(UTC) + timedelta(days=14)).isoformat()
    async with db.transaction():
        draft = await reviews.create_review(
            db, caller, {"name": "Half-year review", "type": "Application", "dueOn": due}, facts()
        )
        return (await reviews.open_review(db, caller, draft.id, facts().now)).id


async def a_conflict(db: Db, person: UUID, owner: UUID) -> tuple[UUID, UUID, UUID]:
    """Create two duties that one group gives, a rule with a draft, and a conflict with a requested exception."""
    first = await a_duty(db, "Post entries", {"group": "Clerks"})
    second = await a_duty(db, "Approve entries", {"permission": "Post entries"}, {"group": "Nobody"})
    rule = await a_rule(db, "Post and approve", first, second, ownerId=str(owner), description="Apart")
    async with db.transaction():
        await duties.change_rule(db, str(rule), {"description": "Kept apart"}, facts())
    conflict: UUID = await fetch_value(db, "SELECT id FROM conflicts WHERE identity_id = %(id)s", id=person)
    wish = {"reason": "Small team", "control": "Weekly check", "controlOwnerId": str(owner)}
    wish["until"] = (datetime.now(UTC) + timedelta(days=30)).isoformat()
    caller = Caller(person, "Ada Lovelace", frozenset())
    async with db.transaction():
        await conflicts.request_exception(db, caller, str(conflict), wish, facts())
    return first, rule, conflict


async def a_form(config: Config, files: dict[str, tuple[str, str]]) -> Upload:
    """Return an upload of files, keyed by form field."""
    form = Upload()
    for field, (name, text) in files.items():
        writing = Writing(config.store)
        await writing.write(text.encode())
        sha256 = await writing.finish()
        form.files.append(UploadedFile(field, name, writing.path, writing.size, sha256))
    return form


async def upload(db: Db, config: Config, caller: Caller, application: UUID, files: dict[str, str]) -> UUID:
    detail = await applications.get(db, application)
    assert detail.connector
    groups = {group.name: str(group.file_group_id) for group in detail.connector.files or ()}
    form = await a_form(config, {groups[name]: (f"{name.lower()}.csv", text) for name, text in files.items()})
    async with db.transaction():
        return await imports.upload_import(db, caller, form, [str(application)], facts(), config.store)
