"""Define the rows of the battery: what each one runs, with which settings, and its goal."""

import msgspec

Settings = dict[str, str]


class Row(msgspec.Struct, frozen=True):
    name: str
    title: str
    goal: str
    tests: tuple[str, ...]
    full: Settings = {}
    # The settings of the short form; None if the row is part of the ordinary suite.
    ci: Settings | None = None
    # Tests of the short form that the ordinary suite runs too, because they are quick.
    suite: tuple[str, ...] = ()
    # Seconds of the short form on two cores, measured or estimated.
    ci_seconds: float = 0


# On a shared machine durations mean little, so allow more time. Lost data is still a failure.
SHARED_MACHINE = {"ROLECALL_BACK_WITHIN_SECONDS": "30"}
ROWS = [
    Row(
        "documents",
        "run every command of the documentation, and create the sample company",
        "every command works as documented",
        ("tests/cli/test_pages.py", "tests/cli/test_demo.py"),
        ci={},
        ci_seconds=110,
    ),
    Row(
        "screens",
        "every screen in a browser with axe, light and dark; the main tasks, with and without scripts",
        "0 violations of accessibility rules, every page fits a phone, every task can be completed",
        (
            "tests/console/browser/test_every_screen.py",
            "tests/console/browser/test_flows.py",
            "tests/console/browser/test_frame.py",
            "tests/console/browser/test_keys.py",
            "tests/console/browser/test_away.py",
            "tests/console/browser/test_mail.py",
        ),
        full={"ROLECALL_BROWSER_LONG": "1"},
        ci={},
        ci_seconds=210,
    ),
    Row(
        "imports",
        "kill -9 of the worker during imports; random files against a naive model; broken files",
        "each import is atomic and resumed; results equal the model; broken files fail with a reason",
        (
            "tests/application_imports/run/test_interrupted.py",
            "tests/application_imports/compare/test_random_files.py",
            "tests/application_imports/read/test_broken_files.py",
        ),
        suite=("tests/application_imports/read/test_broken_files.py",),
        full={"ROLECALL_KILLS": "50", "ROLECALL_EXAMPLES": "200"},
        ci={"ROLECALL_EXAMPLES": "20"},
        ci_seconds=120,
    ),
    Row(
        "decisions",
        "concurrent approvals, cancellations and claims",
        "the history of each record is one legal path",
        ("tests/access_requests/test_concurrency.py", "tests/webhooks/test_claim.py"),
        suite=("tests/webhooks/test_claim.py",),
        full={"ROLECALL_DECISIONS": "20000"},
        ci={},
        ci_seconds=45,
    ),
    Row(
        "upkeep",
        "start a whole service, kill its processes, stop it, restore a backup elsewhere, upgrade it while it runs",
        "it recovers by itself, has the same content, and is not interrupted",
        ("tests/cli/test_serve.py", "tests/operate/test_backup.py", "tests/cli/test_upgrade.py"),
        ci={},
        ci_seconds=110,
    ),
    Row(
        "schemathesis",
        "all checks of Schemathesis on the whole OpenAPI document",
        "0 failures, 0 responses with status 500",
        ("tests/contract/test_schemathesis.py",),
        full={"ROLECALL_SCHEMATHESIS": "full"},
        ci={"ROLECALL_SCHEMATHESIS": "ci"},
        ci_seconds=150,
    ),
    Row(
        "model",
        "random API calls against a model of the state machine",
        "every result equals that of the model",
        ("tests/access_requests/test_state_machine.py",),
        suite=("tests/access_requests/test_state_machine.py",),
        full={"ROLECALL_MODEL_CALLS": "100000"},
        ci={"ROLECALL_MODEL_CALLS": "3000"},
        ci_seconds=75,
    ),
    Row(
        "deliveries",
        "deliveries with 30 % failing receivers, workers killed",
        "100 % delivered after receivers recover; p99 lag of healthy receivers under 3 s",
        ("tests/webhooks/test_endure.py",),
        full={"ROLECALL_DELIVERIES": "20000", "ROLECALL_WORKER_KILLS": "10"},
        ci={"ROLECALL_DELIVERIES": "500", "ROLECALL_WORKER_KILLS": "3"},
        ci_seconds=30,
    ),
    Row(
        "notifications",
        "notifications by SMTP, a tenth of the addresses refused, workers killed",
        "each arrives once, twice only if its worker was killed meanwhile; none for finished work",
        ("tests/notifications/test_endure.py",),
        full={"ROLECALL_MESSAGES": "10000", "ROLECALL_WORKER_KILLS": "5"},
        ci={"ROLECALL_MESSAGES": "500", "ROLECALL_WORKER_KILLS": "2"},
        ci_seconds=30,
    ),
    Row(
        "carriers",
        "kill -9 at every fault point of a carrier, against slapd",
        "no change is lost or made twice; the directory equals the approved access",
        ("tests/carriers/test_endure.py",),
        full={"ROLECALL_CARRIER_KILLS": "224"},
        ci={"ROLECALL_CARRIER_KILLS": "28"},
        ci_seconds=45,
    ),
    Row(
        "reviews",
        "kill -9 while a review is opened, decided in bulk and closed",
        "each is atomic; the digest, every decision and the evidence are complete",
        ("tests/reviews/test_endure.py",),
        full={"ROLECALL_REVIEW_KILLS": "60"},
    ),
    Row(
        "lake",
        "kill -9 during a sync of the lake",
        "after the next sync it equals the database",
        ("tests/lake/test_sync.py",),
        full={"ROLECALL_LAKE_MOMENTS": "50"},
    ),
    Row(
        "kill",
        "kill -9 of API, worker and database under load",
        "0 acknowledged writes lost, 0 moves repeated, ready again in under 3 s",
        ("tests/battery/test_kill.py",),
        full={"ROLECALL_KILL_CYCLES": "500"},
        ci={"ROLECALL_KILL_CYCLES": "20", **SHARED_MACHINE},
        ci_seconds=145,
    ),
    Row(
        "hosts",
        "kill -9 and cutting off of each of nine hosts under load, a replica promoted when the primary is lost",
        "0 acknowledged writes lost, 0 moves doubled, only retryable answers, ready within 10 s of a promotion",
        ("tests/battery/test_hosts.py",),
        full={"ROLECALL_HOST_FAULTS": "200"},
    ),
    Row(
        "fuzz",
        "raw HTTP, multipart, CSV and XLSX fuzz; hostile values in every form, query and path of the console",
        "0 responses with status 500, under 1 s CPU each",
        ("tests/battery/test_fuzz.py", "tests/battery/test_fuzz_console.py"),
        full={"ROLECALL_FUZZ_CASES": "100000"},
        ci={"ROLECALL_FUZZ_CASES": "5000"},
        ci_seconds=115,
    ),
    Row(
        "faults",
        "crashes at fault points around each commit, send and sync",
        "0 acknowledged writes lost, 0 moves repeated, ready again in under 3 s",
        ("tests/battery/test_faults.py",),
        full={"ROLECALL_FAULT_TIMES": "10"},
        ci={"ROLECALL_FAULT_TIMES": "1", **SHARED_MACHINE},
        ci_seconds=330,
    ),
    Row(
        "soak",
        "soak, 200 connections",
        "0 responses with status 500, memory grows less than 1 % per 5 min",
        ("tests/battery/test_soak.py",),
        full={"ROLECALL_SOAK_SECONDS": "720"},
        ci={"ROLECALL_SOAK_SECONDS": "60"},
        ci_seconds=80,
    ),
    Row(
        "tampering",
        "manipulated audit chains, heads, checkpoints and evidence bundles",
        "each manipulation is detected, if necessary with a stored head",
        ("tests/audit/test_tampering.py", "tests/evidence/test_forged.py"),
    ),
    Row(
        "sources",
        "redirects, links and spellings that lead out of an import root; sources that disconnect, hang or lie",
        "0 files read outside, the same response for all attempts, each failure with its reason",
        (
            "tests/application_imports/run/test_locations.py",
            "tests/application_imports/run/test_schedule.py",
            "tests/application_imports/run/test_sources.py",
        ),
    ),
    Row(
        "hostile",
        "NUL, impossible paths and dates in the console; metrics through proxies; locks held by other users",
        "0 responses with status 500, 0 metrics disclosed, 0 locks taken over",
        ("tests/console/test_hostile_input.py", "tests/operate/test_metrics.py", "tests/core/test_postgres.py"),
    ),
    Row(
        "addresses",
        "address corpus × create, update, test, send",
        "0 connections",
        ("tests/webhooks/test_addresses.py",),
    ),
    Row(
        "scopes",
        "routes × tokens, screens × roles",
        "exactly the declared scopes",
        ("tests/web/test_scopes.py", "tests/console/test_roles.py"),
    ),
]
