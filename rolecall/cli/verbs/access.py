"""Define the commands for identities, their access, access models and separation of duties."""

from rolecall.cli.verbs.model import EXAMPLE_ID, PEOPLE, Noun, Verb
from rolecall.client import calls

NOUNS = {
    "identity": Noun(
        "Identities and their access.",
        {
            "list": Verb(calls.list_identities, "rolecall identity list --all", PEOPLE),
            "search": Verb(calls.search_identities, 'rolecall identity search "Lovelace, A"', PEOPLE),
            "show": Verb(calls.get_identity, 'rolecall identity show "Ada Lovelace"'),
            "access": Verb(calls.get_access, "rolecall identity access ada@example.com --as-of 2026-12-01"),
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
            "show": Verb(calls.get_entitlement, f"rolecall entitlements show {EXAMPLE_ID}"),
            "change": Verb(
                calls.curate_entitlement,
                f'rolecall entitlements change {EXAMPLE_ID} --explanation "Releases payments."',
            ),
            "holders": Verb(
                calls.list_holders,
                f"rolecall entitlements holders {EXAMPLE_ID} --as-of 2026-03-01",
                ("identity.name", "account.username", "access", "path", "since.number", "why.accessRequests"),
            ),
            "history": Verb(
                calls.list_holder_history,
                f"rolecall entitlements history {EXAMPLE_ID}",
                ("identity.name", "account.username", "access", "path", "since.number", "until.number"),
            ),
        },
    ),
    "accounts": Noun(
        "Accounts across applications, with or without an identity, and their access.",
        {
            "list": Verb(
                calls.list_all_accounts,
                "rolecall accounts list --leaver true",
                ("id", "application.name", "username", "name", "is_active", "last_login", "match", "identity.name"),
            ),
            "show": Verb(calls.get_account, f"rolecall accounts show {EXAMPLE_ID}"),
            "access": Verb(calls.get_account_access, f"rolecall accounts access {EXAMPLE_ID} --as-of 2026-03-01"),
        },
    ),
    "model": Noun(
        "Access models: the access that people get because of their attributes.",
        {
            "list": Verb(calls.list_models, "rolecall model list", ("id", "name", "enabled", "version", "has_draft")),
            "show": Verb(calls.get_model, "rolecall model show Clerks"),
            "create": Verb(
                calls.create_model, "rolecall model create Clerks --conditions @conditions.json --access @access.json"
            ),
            "change": Verb(calls.change_model, "rolecall model change Clerks --description 'Those who post'"),
            "members": Verb(calls.list_members, "rolecall model members Clerks", PEOPLE),
            "simulate": Verb(calls.simulate_model, "rolecall model simulate Clerks"),
            "commit": Verb(calls.commit_model, "rolecall model commit Clerks"),
        },
    ),
    "duty": Noun(
        "Duties: tasks that people can do, defined by patterns that match entitlements.",
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
            "simulate": Verb(
                calls.simulate_duty, 'rolecall duty simulate "Release payments" --patterns @patterns.json'
            ),
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
            "show": Verb(calls.get_conflict, f"rolecall conflict show {EXAMPLE_ID}"),
            "exceptions": Verb(
                calls.list_conflict_exceptions,
                "rolecall conflict exceptions --status Approved",
                ("number", "identity.name", "rule.name", "status", "control", "control_owner.name", "until"),
            ),
            "except": Verb(
                calls.request_exception,
                f"rolecall conflict except {EXAMPLE_ID} --reason 'Small team' --control 'Weekly check'"
                " --control-owner una@example.com --until 2027-01-31",
            ),
            "approve": Verb(
                calls.approve_exception, f"rolecall conflict approve {EXAMPLE_ID} --approver hana@example.com"
            ),
            "withdraw": Verb(calls.withdraw_exception, f"rolecall conflict withdraw {EXAMPLE_ID}"),
        },
    ),
}
