"""Describe parameters of client commands: which ones accept names, values for shell completion, and help texts."""

from collections.abc import Callable
from typing import Any

from rolecall.client import calls

# Parameters that accept a name in place of an id, each with the list in which the name is looked up.
NAMED: dict[str, Callable[[], calls.Call[Any]]] = {
    "application_id": calls.list_applications,
    "webhook_id": calls.list_webhooks,
    "model_id": calls.list_models,
    "report_id": calls.list_reports,
    "duty_id": calls.list_duties,
    "rule_id": calls.list_duty_rules,
    "conflicts": calls.list_duties,
    "without": calls.list_duties,
    "review_id": calls.list_reviews,
    "review_template_id": calls.list_review_templates,
}

# Parameters that accept a person's full name, e-mail or employee ID in place of an id.
PEOPLE = {"identity_id", "owner_id", "provisioner_ids", "supervisor_id", "reviewer_id", "assignee_id"}
PEOPLE |= {"approver_id", "control_owner_id", "reviewer_ids", "stand_in_id"}

# Parameters of PEOPLE that can be cleared with an empty value.
CLEARED = {"supervisor_id"}

_WORK = ["Pending", "Open", "Resolved", "Completed", "Canceled", "Scheduled", "Snoozed"]
# Values for shell completion; the service validates them.
WORDS: dict[tuple[str, str], list[str]] = {
    ("", "priority"): ["None", "Low", "Moderate", "High", "Critical"],
    ("", "change"): ["New", "Altered", "Removed"],
    ("", "kind"): ["Account", "Group", "Membership", "Permission", "Assignment", "Identity"],
    ("", "match"): ["Pinned", "Never", "Employee ID", "Email", "Name", "Disputed", "Unmatched"],
    ("", "action"): ["Add", "Change", "Remove", "Suspend", "Restore"],
    ("", "response"): ["Approved", "Rejected"],
    ("rule", "response"): ["Warn", "Approve", "Block"],
    ("", "events"): [
        f"AccessRequest{word}"
        for word in (
            "Created",
            "Assigned",
            "Approved",
            "Provisioning",
            "Resolved",
            "Reopened",
            "Completed",
            "Canceled",
        )
    ],
    ("entitlements", "kind"): ["Group", "Permission"],
    ("", "period"): ["Now", "Yesterday", "LastWeek", "LastMonth", "LastQuarter", "LastYear"],
    ("", "format"): ["csv", "xlsx", "jsonl", "parquet"],
    ("", "risk_rating"): ["None", "Low", "Moderate", "High", "Critical"],
    ("request", "status"): _WORK,
    ("event", "status"): _WORK,
    ("", "outcome"): ["sending", "sent", "kept", "deferred", "refused", "channel", "unknown", "bounced", "unwritten"],
    ("notify", "channel"): ["Email", "Slack", "Teams"],
    # The first line has the statuses of a review, the second those of its items.
    ("review", "status"): [
        *("Draft", "Open", "Closed", "Completed", "Canceled"),
        *("Pending", "Approved", "Flagged", "Remediated", "Withdrawn"),
    ],
    ("review", "type"): [
        "Application",
        "Supervisor",
        "Entitlement",
        "GroupContents",
        "Privileged",
        "Unexplained",
        "Changed",
        "Unmatched",
        "Leavers",
        "Model",
    ],
    ("", "decision"): ["Keep", "KeepUntil", "Change", "Revoke", "NotMine", "Unsure"],
    ("", "explained"): ["each", "by model", "carry over"],
    ("", "on_silence"): ["escalate", "flag", "approve"],
    ("stand-in", "type"): ["Approve", "Resolve", "Verify"],
    ("delivery", "status"): ["Pending", "Delivered", "Failed", "Parked"],
    ("request", "type"): ["Add", "Change", "Remove", "Suspend", "Restore"],
    ("event", "type"): ["Onboard", "Offboard", "RoleTransition", "Absence"],
}

_A_TIME, _A_NAME = "A date, or a date and time.", "A name or an id."
A_PERSON = "A full name, an e-mail, an employee ID or an id."
# Help for options whose name does not explain them.
HELP = {
    "access": "A list of objects with applicationId, groups and permissions.",
    "access_request_id": "The id of a request.",
    "application_id": _A_NAME,
    "approved_access": "Approve less than requested: a list of objects with header, section, permission and access.",
    "as_of": "A date, a date and time, or the number of an import.",
    "conditions": "A list of groups; each group is a list of objects with field, operator and value.",
    "connector": "The connector as in the API. A file for `rolecall config` is easier to write.",
    "custom_fields": "A custom field by number (repeatable).",
    "active": "true: only active accounts; false: only inactive ones.",
    "dormant_days": "Only accounts whose last login is more than this many days ago.",
    "effective_date": _A_TIME,
    "end_date": _A_TIME,
    "events": "An event to deliver (repeatable).",
    "columns": "A column of the list (repeatable). Default: all.",
    "filters": "An object with a value for each filter.",
    "guard": "An object with maxRemovedPercent, maxNewPercent and minCount.",
    "identity_id": A_PERSON,
    "leaver": "true: only accounts of people who have left.",
    "owner_id": A_PERSON,
    "privileged": "true: only privileged ones; false: only the others.",
    "same_as": "The id that the entitlement had before it was renamed.",
    "privileges": "A list of objects with header, section, permission and access.",
    "provisioner_ids": "A full name, an e-mail, an employee ID or an id (repeatable).",
    "is_read": "Read (true) or unread (false).",
    "outcome": "The outcome of the message.",
    "confirm": "Close a review that is held because closing it would flag many accounts.",
    "due_on": _A_TIME,
    "explained": "What happens to access that a model explains.",
    "fallback": "The fallback reviewer, who decides when the reviewer of a stage cannot: an object with reviewer, and "
    "identityId if the reviewer is Identity.",
    "item_ids": "The id of an item (repeatable).",
    "on_silence": "What happens to items without a decision after the due date.",
    "reviewer_ids": "A reviewer (repeatable). Default: all who have items left.",
    "review": "The fields of a new review: type, scope, stages and others.",
    "stages": "A list of objects with reviewer, and identityId if the reviewer is Identity.",
    "reminders": "An object with remindAfterDays, escalateAfterDays, escalateTo, days and holidays.",
    "reviewer_id": "The reviewer, by full name, e-mail, employee ID or id. Needed to decide, to undo a decision and to "
    "submit.",
    "schedule": "For an application, an object with cron and locations; for a report, with cron and location.",
    "scheduled_start": _A_TIME,
    "starts_on": f"{_A_TIME} Default: now.",
    "ends_on": _A_TIME,
    "stand_in_id": A_PERSON,
    "supervisor_id": f'{A_PERSON} In a role transition, "" removes the supervisor.',
    "webhook_id": _A_NAME,
    "whole": "Match only complete names and e-mails.",
}
