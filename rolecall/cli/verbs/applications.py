"""Define the commands for applications, their sources, carriers, imports and dry runs."""

from rolecall.cli.verbs.model import EXAMPLE_ID, Noun, Verb
from rolecall.client import calls

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
            "delete-template": Verb(calls.delete_connector_template, f"rolecall app delete-template {EXAMPLE_ID}"),
            "pin": Verb(calls.pin_account, "rolecall app pin ACCOUNT ada@example.com"),
            "unpin": Verb(calls.unpin_account, "rolecall app unpin ACCOUNT"),
        },
    ),
    "source": Noun(
        "Live sources: fetch the records of an application from SCIM, REST, LDAP or SQL, or receive SCIM pushes.",
        {
            "show": Verb(calls.get_source, "rolecall source show Payroll"),
            "set": Verb(
                calls.put_source,
                "rolecall source set Payroll REST https://api.example.com/v1 --contents @contents.json",
            ),
            "remove": Verb(calls.delete_source, "rolecall source remove Payroll"),
            "test": Verb(calls.test_source, "rolecall source test Payroll"),
            "fetch": Verb(calls.stage_import, "rolecall source fetch Payroll"),
            "push": Verb(calls.get_push, "rolecall source push Payroll"),
            "create-token": Verb(calls.create_push_token, "rolecall source create-token Payroll Okta"),
            "revoke-token": Verb(calls.revoke_push_token, f"rolecall source revoke-token {EXAMPLE_ID}"),
        },
    ),
    "carrier": Noun(
        "Carriers: carry out approved requests in an application through SCIM or LDAP.",
        {
            "show": Verb(calls.get_carrier, "rolecall carrier show Payroll"),
            "set": Verb(
                calls.put_carrier,
                "rolecall carrier set Payroll SCIM https://idp.example.com/scim/v2 --mode 'Dry Run'",
            ),
            "remove": Verb(calls.delete_carrier, "rolecall carrier remove Payroll"),
            "preview": Verb(calls.preview_carrier, f"rolecall carrier preview Payroll {EXAMPLE_ID}"),
            "release": Verb(calls.release_carrier, "rolecall carrier release Payroll"),
            "carry-out": Verb(calls.carry_out, f"rolecall carrier carry-out Payroll {EXAMPLE_ID}"),
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
            "show": Verb(calls.get_import, f"rolecall import show {EXAMPLE_ID}"),
            "stage": Verb(calls.stage_import, "rolecall import stage Payroll"),
            "cancel": Verb(calls.cancel_import, f"rolecall import cancel {EXAMPLE_ID}"),
            "continue": Verb(calls.continue_import, f"rolecall import continue {EXAMPLE_ID}"),
            "changes": Verb(
                calls.list_changes,
                f"rolecall import changes {EXAMPLE_ID} --change Removed",
                ("kind", "change", "name", "before", "after"),
            ),
            "rejects": Verb(
                calls.list_rejects, f"rolecall import rejects {EXAMPLE_ID}", ("file", "line", "reason", "row")
            ),
        },
    ),
    "dry-run": Noun(
        "Dry runs: what an import of files would change. Start one with `rolecall import dry-run`.",
        {
            "show": Verb(calls.get_dry_run, f"rolecall dry-run show {EXAMPLE_ID}"),
            "changes": Verb(
                calls.list_dry_run_changes,
                f"rolecall dry-run changes {EXAMPLE_ID} --change Removed",
                ("kind", "change", "name", "before", "after"),
            ),
            "rejects": Verb(
                calls.list_dry_run_rejects, f"rolecall dry-run rejects {EXAMPLE_ID}", ("file", "line", "reason", "row")
            ),
        },
    ),
}
