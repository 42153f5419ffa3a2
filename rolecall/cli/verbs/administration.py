"""Define the commands for reports, webhooks and notifications."""

from rolecall.cli.verbs.model import EXAMPLE_ID, Noun, Verb
from rolecall.client import calls

NOUNS = {
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
            "show": Verb(calls.get_delivery, f"rolecall delivery show {EXAMPLE_ID}"),
            "resend": Verb(calls.resend_delivery, f"rolecall delivery resend {EXAMPLE_ID}"),
        },
    ),
    "notify": Noun(
        "Notifications: your own, the settings, and sent messages.",
        {
            "list": Verb(
                calls.list_notifications,
                "rolecall notify list --is-read false",
                ("id", "kind", "subject", "created_date", "is_read", "is_current"),
            ),
            "read": Verb(calls.mark_notification, f"rolecall notify read {EXAMPLE_ID}"),
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
            "message": Verb(calls.get_notification_message, f"rolecall notify message {EXAMPLE_ID}"),
        },
    ),
}
