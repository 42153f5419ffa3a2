"""The client commands as data: nouns, verbs, the call of each and the columns of its table."""

from collections.abc import Callable
from typing import Any

import msgspec

from rolecall.client import calls


class Verb(msgspec.Struct, frozen=True):
    """A verb; `columns` are paths into the items of a list."""

    call: Callable[..., calls.Call[Any]]
    example: str
    columns: tuple[str, ...] = ()


class Noun(msgspec.Struct, frozen=True):
    help: str
    verbs: dict[str, Verb]


_PEOPLE = ("id", "last_name", "first_name", "email_address", "type", "department", "status")
_ID = "0192e4a0-7c1e-7000-8000-000000000001"

NOUNS = {
    "app": Noun(
        "Applications: accounts, groups, permissions and imports.",
        {
            "list": Verb(
                calls.list_applications, "rolecall app list", ("id", "name", "priority", "is_archived", "last_updated")
            ),
            "show": Verb(calls.get_application, "rolecall app show Payroll"),
            "configuration": Verb(calls.get_application_configuration, "rolecall app configuration Payroll --json"),
            "create": Verb(calls.create_application, "rolecall app create Payroll --connector @connector.json"),
            "change": Verb(calls.change_application, "rolecall app change Payroll --priority High"),
            "accounts": Verb(
                calls.list_accounts,
                "rolecall app accounts Payroll --match Unmatched",
                ("id", "username", "name", "email", "is_active", "match", "identity_id"),
            ),
            "groups": Verb(calls.list_groups, "rolecall app groups Payroll", ("id", "name", "description")),
            "permissions": Verb(
                calls.list_permissions,
                "rolecall app permissions Payroll --as-of 2026-12-01",
                ("id", "header", "section", "permission", "risk_rating"),
            ),
            "rollback": Verb(calls.roll_back, "rolecall app rollback Payroll 17"),
            "save-template": Verb(calls.save_connector_template, "rolecall app save-template Payroll 'Payroll export'"),
            "delete-template": Verb(calls.delete_connector_template, f"rolecall app delete-template {_ID}"),
            "pin": Verb(calls.pin_account, "rolecall app pin ACCOUNT ada@example.com"),
            "unpin": Verb(calls.unpin_account, "rolecall app unpin ACCOUNT"),
        },
    ),
    "source": Noun(
        "Live sources: fetch the records of an application from SCIM, REST, LDAP or SQL.",
        {
            "show": Verb(calls.get_source, "rolecall source show Payroll"),
            "set": Verb(
                calls.put_source,
                "rolecall source set Payroll REST https://api.example.com/v1 --contents @contents.json",
            ),
            "remove": Verb(calls.delete_source, "rolecall source remove Payroll"),
            "test": Verb(calls.test_source, "rolecall source test Payroll"),
            "fetch": Verb(calls.stage_import, "rolecall source fetch Payroll"),
        },
    ),
    "entitlements": Noun(
        "Groups and permissions of all applications: who holds them, since when and why.",
        {
            "list": Verb(
                calls.list_entitlements,
                "rolecall entitlements list --search wire --risk-rating Critical",
                ("id", "kind", "application.name", "header", "name", "risk_rating", "owner.name", "holders.accounts"),
            ),
            "show": Verb(calls.get_entitlement, f"rolecall entitlements show {_ID}"),
            "change": Verb(
                calls.curate_entitlement, f'rolecall entitlements change {_ID} --explanation "Releases payments."'
            ),
            "holders": Verb(
                calls.list_holders,
                f"rolecall entitlements holders {_ID} --as-of 2026-03-01",
                ("identity.name", "account.username", "access", "path", "since.number", "why.accessRequests"),
            ),
            "history": Verb(
                calls.list_holder_history,
                f"rolecall entitlements history {_ID}",
                ("identity.name", "account.username", "access", "path", "since.number", "until.number"),
            ),
        },
    ),
    "accounts": Noun(
        "Accounts across applications, matched or not, and what they can do.",
        {
            "list": Verb(
                calls.list_all_accounts,
                "rolecall accounts list --leaver true",
                ("id", "application.name", "username", "name", "is_active", "last_login", "match", "identity.name"),
            ),
            "show": Verb(calls.get_account, f"rolecall accounts show {_ID}"),
            "access": Verb(calls.get_account_access, f"rolecall accounts access {_ID} --as-of 2026-03-01"),
        },
    ),
    "import": Noun(
        "Imports: upload files, follow the log, list the changes.",
        {
            "list": Verb(
                calls.list_imports,
                "rolecall import list --application Payroll",
                ("id", "number", "status", "type", "application.name", "build_start", "build_end"),
            ),
            "show": Verb(calls.get_import, f"rolecall import show {_ID}"),
            "stage": Verb(calls.stage_import, "rolecall import stage Payroll"),
            "cancel": Verb(calls.cancel_import, f"rolecall import cancel {_ID}"),
            "continue": Verb(calls.continue_import, f"rolecall import continue {_ID}"),
            "changes": Verb(
                calls.list_changes,
                f"rolecall import changes {_ID} --change Removed",
                ("kind", "change", "name", "before", "after"),
            ),
            "rejects": Verb(calls.list_rejects, f"rolecall import rejects {_ID}", ("file", "line", "reason", "row")),
        },
    ),
    "dry-run": Noun(
        "Dry runs: what an import of files would do. `rolecall import dry-run` starts one.",
        {
            "show": Verb(calls.get_dry_run, f"rolecall dry-run show {_ID}"),
            "changes": Verb(
                calls.list_dry_run_changes,
                f"rolecall dry-run changes {_ID} --change Removed",
                ("kind", "change", "name", "before", "after"),
            ),
            "rejects": Verb(
                calls.list_dry_run_rejects, f"rolecall dry-run rejects {_ID}", ("file", "line", "reason", "row")
            ),
        },
    ),
    "identity": Noun(
        "Identities and their access.",
        {
            "list": Verb(calls.list_identities, "rolecall identity list --all", _PEOPLE),
            "search": Verb(calls.search_identities, 'rolecall identity search "Lovelace, A"', _PEOPLE),
            "show": Verb(calls.get_identity, 'rolecall identity show "Ada Lovelace"'),
            "access": Verb(calls.get_access, "rolecall identity access ada@example.com --as-of 2026-12-01"),
        },
    ),
    "event": Noun(
        "Personnel events: onboarding, role transition, leave of absence, offboarding.",
        {
            "list": Verb(
                calls.list_events,
                "rolecall event list --status Open",
                ("id", "number", "type", "status", "affected_identity", "needed_on", "needed_until"),
            ),
            "show": Verb(calls.get_event, f"rolecall event show {_ID}"),
            "onboard": Verb(
                calls.onboard,
                "rolecall event onboard --first-name Ada --last-name Byron --effective-date 2035-01-01",
            ),
            "offboard": Verb(calls.offboard, 'rolecall event offboard "Ada Lovelace" --effective-date 2035-01-01'),
            "transition": Verb(
                calls.transition_role,
                "rolecall event transition ada@example.com --title Controller --effective-date 2035-01-01",
            ),
            "absence": Verb(
                calls.begin_absence,
                "rolecall event absence E-1815 --effective-date 2035-01-01 --end-date 2035-03-01",
            ),
            "preview": Verb(
                calls.preview_event,
                "rolecall event preview Offboard --identity ada@example.com --effective-date 2035-01-01",
            ),
            "assign": Verb(calls.assign_event, f'rolecall event assign {_ID} "Grace Hopper"'),
            "return-date": Verb(calls.set_return_date, f"rolecall event return-date {_ID} 2035-03-01"),
            "cancel": Verb(calls.cancel_event, f'rolecall event cancel {_ID} --comment "Stays after all"'),
            "comment": Verb(calls.comment_on_event, f'rolecall event comment {_ID} "Badge is ready"'),
        },
    ),
    "request": Noun(
        "Access requests: approve, resolve, verify.",
        {
            "list": Verb(
                calls.list_requests,
                "rolecall request list --status Pending",
                ("id", "number", "action", "status", "target.application.name", "target.name", "assignee"),
            ),
            "show": Verb(calls.get_request, f"rolecall request show {_ID}"),
            "create": Verb(
                calls.create_request,
                "rolecall request create Add Payroll --identity ada@example.com"
                """ --privileges '[{"permission": "Post"}]'""",
            ),
            "stalled": Verb(
                calls.list_stalled_requests,
                "rolecall request stalled",
                ("id", "status", "waiting_days", "target.application.name", "target.name", "waiting_for", "reasons"),
            ),
            "leftovers": Verb(
                calls.list_leftovers,
                "rolecall request leftovers",
                ("id", "application.name", "username", "affected_identity.last_name", "affected_identity.status"),
            ),
            "decide": Verb(calls.respond, f"rolecall request decide {_ID} Approved --reviewer grace@example.com"),
            "assign": Verb(calls.assign_request, f'rolecall request assign {_ID} "Grace Hopper"'),
            "resolve": Verb(calls.resolve_request, f'rolecall request resolve {_ID} --comment "Done in SAP"'),
            "verify": Verb(calls.verify_request, f"rolecall request verify {_ID}"),
            "reopen": Verb(calls.reopen_request, f'rolecall request reopen {_ID} --comment "Still there"'),
            "snooze": Verb(calls.snooze_request, f"rolecall request snooze {_ID} 2035-01-01"),
            "resume": Verb(calls.resume_request, f"rolecall request resume {_ID}"),
            "cancel": Verb(calls.cancel_request, f"rolecall request cancel {_ID}"),
            "comment": Verb(calls.comment_on_request, f'rolecall request comment {_ID} "Asked the vendor"'),
        },
    ),
    "hook": Noun(
        "Webhooks.",
        {
            "list": Verb(calls.list_webhooks, "rolecall hook list", ("id", "name", "url", "enabled", "events")),
            "show": Verb(calls.get_webhook, "rolecall hook show jira"),
            "create": Verb(
                calls.create_webhook,
                "rolecall hook create jira https://hooks.example.com/x --event AccessRequestProvisioning",
            ),
            "change": Verb(calls.change_webhook, "rolecall hook change jira --no-enabled"),
            "delete": Verb(calls.delete_webhook, "rolecall hook delete jira"),
            "test": Verb(calls.test_webhook, "rolecall hook test jira"),
            "rotate-secret": Verb(calls.rotate_secret, "rolecall hook rotate-secret jira"),
            "recover": Verb(calls.recover_webhook, "rolecall hook recover jira 2026-12-01"),
        },
    ),
    "delivery": Noun(
        "Webhook deliveries.",
        {
            "list": Verb(
                calls.list_deliveries,
                "rolecall delivery list --webhook jira --status Failed",
                ("id", "event", "status", "attempt_count", "created_date", "next_attempt_on"),
            ),
            "show": Verb(calls.get_delivery, f"rolecall delivery show {_ID}"),
            "resend": Verb(calls.resend_delivery, f"rolecall delivery resend {_ID}"),
        },
    ),
    "reports": Noun(
        "Reports: saved exports of lists, run by hand or on a schedule.",
        {
            "list": Verb(
                calls.list_reports,
                "rolecall reports list",
                ("id", "name", "list", "period", "format", "schedule.cron", "last_run.status", "last_run.started_on"),
            ),
            "show": Verb(calls.get_report, 'rolecall reports show "Dormant accounts"'),
            "create": Verb(
                calls.create_report,
                """rolecall reports create Movers access-changes --period LastMonth --filters '{"privileged": true}'""",
            ),
            "change": Verb(
                calls.change_report,
                """rolecall reports change Movers --schedule '{"cron": "0 6 1 * *", "location": "/srv/reports"}'""",
            ),
            "delete": Verb(calls.delete_report, "rolecall reports delete Movers"),
            "write": Verb(calls.write_report, "rolecall reports write Movers"),
            "runs": Verb(
                calls.list_report_runs,
                "rolecall reports runs Movers",
                ("id", "status", "created_by.name", "started_on", "row_count", "location", "reason"),
            ),
        },
    ),
    "duty": Noun(
        "Duties: what people can do, under a name, by patterns over entitlements.",
        {
            "list": Verb(
                calls.list_duties, "rolecall duty list", ("id", "name", "entitlements", "holders", "description")
            ),
            "show": Verb(calls.get_duty, 'rolecall duty show "Release payments"'),
            "create": Verb(
                calls.create_duty,
                """rolecall duty create "Release payments" --patterns '[{"permission": "Release payment*"}]'""",
            ),
            "change": Verb(calls.change_duty, 'rolecall duty change "Release payments" --patterns @patterns.json'),
            "delete": Verb(calls.delete_duty, 'rolecall duty delete "Release payments"'),
            "holders": Verb(
                calls.list_duty_holders,
                'rolecall duty holders "Release payments" --as-of 2026-03-01',
                ("identity.name", "identity.title", "identity.department", "identity.status"),
            ),
        },
    ),
    "rule": Noun(
        "Rules that keep duties apart.",
        {
            "list": Verb(
                calls.list_duty_rules,
                "rolecall rule list",
                ("id", "name", "risk", "response", "owner.name", "version", "has_draft", "open", "excepted"),
            ),
            "show": Verb(calls.get_duty_rule, 'rolecall rule show "Prepare and release"'),
            "create": Verb(
                calls.create_duty_rule,
                'rolecall rule create "Enter and approve" --conflict "Enter wires" --conflict "Approve wires"',
            ),
            "change": Verb(calls.change_duty_rule, 'rolecall rule change "Prepare and release" --risk Critical'),
            "simulate": Verb(calls.simulate_duty_rule, 'rolecall rule simulate "Prepare and release"'),
            "commit": Verb(calls.commit_duty_rule, 'rolecall rule commit "Prepare and release"'),
        },
    ),
    "conflict": Noun(
        "Conflicts: people who hold duties that a rule keeps apart.",
        {
            "list": Verb(
                calls.list_conflicts,
                "rolecall conflict list --status Open",
                ("id", "identity.name", "rule.name", "rule.risk", "status", "since", "until"),
            ),
            "show": Verb(calls.get_conflict, f"rolecall conflict show {_ID}"),
            "exceptions": Verb(
                calls.list_conflict_exceptions,
                "rolecall conflict exceptions --status Approved",
                ("number", "identity.name", "rule.name", "status", "control", "control_owner.name", "until"),
            ),
            "except": Verb(
                calls.ask_for_exception,
                f"rolecall conflict except {_ID} --reason 'Small team' --control 'Weekly check'"
                " --control-owner una@example.com --until 2027-01-31",
            ),
            "approve": Verb(calls.approve_exception, f"rolecall conflict approve {_ID} --approver hana@example.com"),
            "withdraw": Verb(calls.withdraw_exception, f"rolecall conflict withdraw {_ID}"),
        },
    ),
    "review": Noun(
        "Access reviews: who checks which access, by when.",
        {
            "list": Verb(
                calls.list_reviews,
                "rolecall review list --status Open",
                ("id", "number", "name", "type", "status", "due_on", "items.pending", "items.flagged"),
            ),
            "show": Verb(calls.get_review, 'rolecall review show "Finance systems"'),
            "create": Verb(
                calls.create_review,
                """rolecall review create "Finance systems" Supervisor --due-on 2027-03-31 --scope @scope.json""",
            ),
            "change": Verb(calls.change_review, 'rolecall review change "Finance systems" --due-on 2027-04-15'),
            "preview": Verb(calls.preview_review, 'rolecall review preview "Finance systems"'),
            "open": Verb(calls.open_review, 'rolecall review open "Finance systems"'),
            "check": Verb(calls.check_population, 'rolecall review check "Finance systems"'),
            "items": Verb(
                calls.list_review_items,
                'rolecall review items "Finance systems" --status Pending',
                (
                    "id",
                    "number",
                    "identity.name",
                    "application.name",
                    "account.username",
                    "entitlement.name",
                    "access",
                    "reviewer.name",
                    "recommendation.verdict",
                    "decision",
                    "status",
                ),
            ),
            "new-access": Verb(
                calls.list_new_access,
                'rolecall review new-access "Finance systems"',
                ("identity.name", "application.name", "account.name", "entitlement.name", "access", "since.number"),
            ),
            "decide": Verb(
                calls.decide_review_items,
                """rolecall review decide "Finance systems" Keep --filters '{"reason": "Explained by Model"}'""",
            ),
            "submit": Verb(calls.submit_review, 'rolecall review submit "Finance systems" --reviewer ada@example.com'),
            "coverage": Verb(
                calls.list_review_coverage,
                "rolecall review coverage",
                ("application.name", "review_every_months", "last_review.completed_on", "due_on", "is_overdue"),
            ),
            "remind": Verb(calls.remind_reviewers, 'rolecall review remind "Finance systems"'),
            "close": Verb(calls.close_review, 'rolecall review close "Finance systems" --confirm'),
            "cancel": Verb(calls.cancel_review, 'rolecall review cancel "Finance systems"'),
        },
    ),
    "review-template": Noun(
        "Templates of reviews that repeat.",
        {
            "list": Verb(
                calls.list_review_templates,
                "rolecall review-template list",
                ("id", "name", "every_months", "next_on", "opens", "fault"),
            ),
            "show": Verb(calls.get_review_template, "rolecall review-template show Quarterly"),
            "create": Verb(
                calls.create_review_template,
                "rolecall review-template create Quarterly --every-months 3 --review @review.json --opens",
            ),
            "change": Verb(calls.change_review_template, "rolecall review-template change Quarterly --every-months 6"),
            "delete": Verb(calls.delete_review_template, "rolecall review-template delete Quarterly"),
        },
    ),
    "review-item": Noun(
        "Items of access reviews: access that a reviewer decides about.",
        {
            "show": Verb(calls.get_review_item, f"rolecall review-item show {_ID}"),
            "decide": Verb(
                calls.decide_review_item,
                f"rolecall review-item decide {_ID} Revoke --comment 'No longer needed' --reviewer ada@example.com",
            ),
            "undo": Verb(calls.undo_review_decision, f"rolecall review-item undo {_ID} --reviewer ada@example.com"),
            "reassign": Verb(
                calls.reassign_review_item,
                f"rolecall review-item reassign {_ID} grace@example.com --comment 'Ada is on leave'",
            ),
            "accept": Verb(
                calls.accept_review_item,
                f"rolecall review-item accept {_ID} --reason 'Needed for the audit' --until 2027-06-30"
                " --identity grace@example.com",
            ),
        },
    ),
    "stand-in": Noun(
        "Stand-ins: who responds for a person, from when until when.",
        {
            "list": Verb(
                calls.list_stand_ins,
                "rolecall stand-in list",
                ("id", "identity.name", "stand_in.name", "type", "starts_on", "ends_on", "status"),
            ),
            "create": Verb(
                calls.create_stand_in,
                "rolecall stand-in create 'Grace Hopper' --identity 'Ada Lovelace' --ends-on 2026-12-01",
            ),
            "end": Verb(calls.end_stand_in, f"rolecall stand-in end {_ID}"),
        },
    ),
    "notify": Noun(
        "Notifications: yours, their settings, and sent messages.",
        {
            "list": Verb(
                calls.list_notifications,
                "rolecall notify list --is-read false",
                ("id", "kind", "subject", "created_date", "is_read", "is_current"),
            ),
            "read": Verb(calls.mark_notification, f"rolecall notify read {_ID}"),
            "read-all": Verb(calls.mark_all_notifications, "rolecall notify read-all"),
            "preferences": Verb(calls.get_notification_preferences, "rolecall notify preferences"),
            "prefer": Verb(
                calls.change_notification_preferences,
                """rolecall notify prefer --zone Europe/Zurich --kinds '[{"kind": "Decided", "rhythm": "Digest"}]'""",
            ),
            "settings": Verb(calls.get_notification_settings, "rolecall notify settings"),
            "change": Verb(
                calls.change_notification_settings,
                """rolecall notify change --reminders '{"remindAfterDays": 2, "escalateAfterDays": 5}'""",
            ),
            "preview": Verb(
                calls.preview_notification_template,
                "rolecall notify preview Waiting --subject '{{ asked }}: {{ what }}' --body 'Please decide.'",
            ),
            "test": Verb(calls.try_notifications, "rolecall notify test ada@example.com"),
            "messages": Verb(
                calls.list_notification_messages,
                "rolecall notify messages --outcome refused",
                ("id", "channel", "kind", "recipient", "address", "subject", "outcome", "started_on"),
            ),
            "message": Verb(calls.get_notification_message, f"rolecall notify message {_ID}"),
        },
    ),
    "model": Noun(
        "Access models: access that people get by their attributes.",
        {
            "list": Verb(calls.list_models, "rolecall model list", ("id", "name", "enabled", "version", "has_draft")),
            "show": Verb(calls.get_model, "rolecall model show Clerks"),
            "create": Verb(
                calls.create_model, "rolecall model create Clerks --conditions @conditions.json --access @access.json"
            ),
            "change": Verb(calls.change_model, "rolecall model change Clerks --description 'Those who post'"),
            "members": Verb(calls.list_members, "rolecall model members Clerks", _PEOPLE),
            "simulate": Verb(calls.simulate_model, "rolecall model simulate Clerks"),
            "commit": Verb(calls.commit_model, "rolecall model commit Clerks"),
        },
    ),
}
