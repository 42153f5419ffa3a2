"""Define the commands for access reviews."""

from rolecall.cli.verbs.model import EXAMPLE_ID, Noun, Verb
from rolecall.client import calls

NOUNS = {
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
                """rolecall review decide "Finance systems" Keep --filters '{"reason": "Explained by Model"}'"""
                " --reviewer ada@example.com",
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
        "Templates of recurring reviews.",
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
        "Items that reviewers decide in access reviews.",
        {
            "show": Verb(calls.get_review_item, f"rolecall review-item show {EXAMPLE_ID}"),
            "decide": Verb(
                calls.decide_review_item,
                f"rolecall review-item decide {EXAMPLE_ID} Revoke --comment 'No longer needed'"
                " --reviewer ada@example.com",
            ),
            "undo": Verb(
                calls.undo_review_decision, f"rolecall review-item undo {EXAMPLE_ID} --reviewer ada@example.com"
            ),
            "reassign": Verb(
                calls.reassign_review_item,
                f"rolecall review-item reassign {EXAMPLE_ID} grace@example.com --comment 'Ada is on leave'",
            ),
            "accept": Verb(
                calls.accept_review_item,
                f"rolecall review-item accept {EXAMPLE_ID} --reason 'Needed for the audit' --until 2027-06-30"
                " --identity grace@example.com",
            ),
        },
    ),
}
