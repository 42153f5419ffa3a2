"""Define the commands for personnel events, access requests and stand-ins."""

from rolecall.cli.verbs.model import EXAMPLE_ID, Noun, Verb
from rolecall.client import calls

NOUNS = {
    "event": Noun(
        "Personnel events: onboarding, role transition, leave of absence, offboarding.",
        {
            "list": Verb(
                calls.list_events,
                "rolecall event list --status Open",
                ("id", "number", "type", "status", "affected_identity", "needed_on", "needed_until"),
            ),
            "show": Verb(calls.get_event, f"rolecall event show {EXAMPLE_ID}"),
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
            "assign": Verb(calls.assign_event, f'rolecall event assign {EXAMPLE_ID} "Grace Hopper"'),
            "return-date": Verb(calls.set_return_date, f"rolecall event return-date {EXAMPLE_ID} 2035-03-01"),
            "cancel": Verb(calls.cancel_event, f'rolecall event cancel {EXAMPLE_ID} --comment "Stays after all"'),
            "comment": Verb(calls.comment_on_event, f'rolecall event comment {EXAMPLE_ID} "Badge is ready"'),
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
            "show": Verb(calls.get_request, f"rolecall request show {EXAMPLE_ID}"),
            "create": Verb(
                calls.create_request,
                "rolecall request create Add Payroll --identity ada@example.com"
                """ --privileges '[{"permission": "Post"}]'""",
            ),
            "preview": Verb(
                calls.preview_request,
                "rolecall request preview Add Payroll --identity ada@example.com"
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
            "decide": Verb(
                calls.respond, f"rolecall request decide {EXAMPLE_ID} Approved --reviewer grace@example.com"
            ),
            "assign": Verb(calls.assign_request, f'rolecall request assign {EXAMPLE_ID} "Grace Hopper"'),
            "resolve": Verb(calls.resolve_request, f'rolecall request resolve {EXAMPLE_ID} --comment "Done in SAP"'),
            "verify": Verb(calls.verify_request, f"rolecall request verify {EXAMPLE_ID}"),
            "reopen": Verb(calls.reopen_request, f'rolecall request reopen {EXAMPLE_ID} --comment "Still there"'),
            "snooze": Verb(calls.snooze_request, f"rolecall request snooze {EXAMPLE_ID} 2035-01-01"),
            "resume": Verb(calls.resume_request, f"rolecall request resume {EXAMPLE_ID}"),
            "cancel": Verb(calls.cancel_request, f"rolecall request cancel {EXAMPLE_ID}"),
            "comment": Verb(calls.comment_on_request, f'rolecall request comment {EXAMPLE_ID} "Asked the vendor"'),
        },
    ),
    "stand-in": Noun(
        "Stand-ins: people who respond for another person for a limited time.",
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
            "end": Verb(calls.end_stand_in, f"rolecall stand-in end {EXAMPLE_ID}"),
        },
    ),
}
