"""Check the health of a service and give advice for each problem; `docs/operating.md` explains the checks."""

from datetime import UTC, datetime, timedelta

from rolecall.access_requests.queries import leftovers
from rolecall.application_imports.queries import failing_schedules
from rolecall.audit import queries as audit
from rolecall.carriers import health as carriers
from rolecall.core import clock, migrate, sealing
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.heartbeat import some_worker_lives
from rolecall.core.text import counted, some_of
from rolecall.identities import queries as identities
from rolecall.notifications import health as notifications
from rolecall.notifications.queries import sealed_secrets
from rolecall.operate.check_results import CheckResult, CheckState, DatabaseCheck, fine, trouble
from rolecall.operate.folder_checks import disks, permissions
from rolecall.reports import queries as reports
from rolecall.scim_server import health as pushes
from rolecall.sources import health as sources
from rolecall.tokens import queries as tokens

# A larger difference shifts due times and expiry times: one machine sets them, another compares them with its clock.
MOST_SKEW = timedelta(seconds=5)
MOST_UNMATCHED_PERCENT = 10
# An attempt takes at most 15 s and a lease 45 s, so a delivery that is overdue by minutes is not being sent.
DELIVERIES_LATE = timedelta(minutes=5)
IMPORTS_WAIT = timedelta(minutes=15)
_NAMED = 5
_ROTATE_PUSH = (
    "create another token (`rolecall source create-token APPLICATION NAME`), enter it at the identity provider, and"
    " revoke the old one"
)


async def examine(db: Db, config: Config) -> list[CheckResult]:
    """Run all checks and return their results. Checks that need tables run last, and only if the schema is current."""
    findings = [await _clock(db)]
    # With ROLECALL_DATABASE_URL, this machine may have no data folder.
    if config.data_dir.exists():
        findings += [*disks(config), *permissions(config)]
    findings += [_signing_in(config), version := await _version(db)]
    if version.state is CheckState.OK:
        findings += [await check.result(db) for check in _CHECKS]
        findings += [await _unmatched(db), await _audit(db), await _secrets(db, config)]
        findings += await _connections(db, config)
    return findings


def out_of_reach(error: Exception) -> CheckResult:
    return trouble(
        "database",
        f"unreachable: {' '.join(str(error).split())}",
        "start it, and check ROLECALL_DATABASE_URL and the network",
    )


async def _version(db: Db) -> CheckResult:
    if await fetch_value(db, "SELECT to_regnamespace(%(aside)s)", aside=migrate.ASIDE):
        # Commands print INTERRUPTED as a single error message, in which the advice follows the first semicolon.
        detail, _, advice = migrate.INTERRUPTED.partition("; ")
        return trouble("migrations", detail, advice)
    behind, ahead = await migrate.differences(db)
    if ahead:
        return trouble(
            "migrations", f"the database is newer than this program: it has {_some(ahead)}", "run the newer program"
        )
    if behind:
        return trouble(
            "migrations",
            f"{len(behind)} not applied: {_some(behind)}",
            "run `rolecall migrate`, or start `rolecall serve`",
        )
    return fine("migrations", "the schema of the database is current")


def _signing_in(config: Config) -> CheckResult:
    if config.passwords or config.oidc_issuer:
        return fine("sign-in", "people can sign in with a password or an OpenID provider")
    return CheckResult(
        "sign-in",
        CheckState.WARNING,
        "passwords are off and no OpenID provider is set: people can sign in only with one-time links",
        "set ROLECALL_OIDC_ISSUER, or remove ROLECALL_PASSWORDS",
    )


async def _worker(db: Db) -> str:
    alive = await some_worker_lives(db)
    return "" if alive else "no worker has sent a heartbeat within 20 s: imports and all other background work wait"


async def _clock(db: Db) -> CheckResult:
    before = clock.now()
    there: datetime = await fetch_value(db, "SELECT clock_timestamp()")
    # The database read its clock about halfway between the two readings here.
    here = before + (clock.now() - before) / 2
    skew = abs(here - there)
    seconds = f"{skew.total_seconds():.1f} s"
    if skew <= MOST_SKEW:
        return fine("clock", f"differs from the clock of the database by {seconds}")
    return trouble(
        "clock",
        f"the clocks of this machine and of the database differ by {seconds}",
        "synchronize both clocks with NTP",
    )


async def _hooks(db: Db) -> str:
    rows = await fetch_rows(
        db,
        """SELECT name FROM webhooks WHERE deleted_on IS NULL
           AND (disabled_reason IS NOT NULL OR enabled AND failing_since < now() - interval '10 minutes')
           ORDER BY name""",
    )
    return f"failing or disabled by the service: {_some([name for (name,) in rows])}" if rows else ""


async def _late_deliveries(db: Db) -> str:
    """Check for hooks with overdue deliveries and none in flight: no worker runs, or it cannot decrypt the secret."""
    rows = await fetch_rows(
        db,
        """SELECT h.name, oldest.next_attempt_on FROM webhooks h
           CROSS JOIN LATERAL (
               SELECT d.next_attempt_on FROM webhook_deliveries d
               WHERE d.webhook_id = h.id AND d.status = 'Pending'
               ORDER BY d.next_attempt_on LIMIT 1) AS oldest
           WHERE h.enabled AND h.deleted_on IS NULL AND oldest.next_attempt_on < now() - %(late)s
             AND NOT EXISTS (SELECT FROM webhook_deliveries f
                             WHERE f.webhook_id = h.id AND f.lease IS NOT NULL AND f.next_attempt_on > now())
           ORDER BY oldest.next_attempt_on""",
        late=DELIVERIES_LATE,
    )
    return (
        f"overdue since {_moment(rows[0][1])}, because no worker sends them:"
        f" deliveries of {_some([name for name, _ in rows])}"
        if rows
        else ""
    )


async def _secrets(db: Db, config: Config) -> CheckResult:
    rows = await fetch_rows(db, "SELECT id, name, secret FROM webhooks WHERE deleted_on IS NULL ORDER BY name")
    rows += [(owner, f"notifications by {channel}", sealed) for channel, owner, sealed in await sealed_secrets(db)]
    key = sealing.find_key(config)
    closed = [name for id, name, secret in rows if key is None or not sealing.can_unseal(key, secret, id)]
    if not closed:
        return fine("secrets", f"the key decrypts the {counted(len(rows), 'secret')} of webhooks and notifications")
    return trouble(
        "secrets",
        f"{'there is no key' if key is None else 'encrypted with another key'}, so nothing is sent: {_some(closed)}",
        "put the old secret.key (or ROLECALL_SECRET_KEY) back; if it is lost, rotate the secret of each webhook"
        " (`rolecall hook rotate-secret`), give the new one to the receiver, and set the secrets of notifications again"
        " (`rolecall notify change`)",
    )


async def _connections(db: Db, config: Config) -> list[CheckResult]:
    """Check live sources, SCIM pushes and carriers, without connecting to them."""
    return [
        _of_problems(
            "live sources",
            await sources.problems(db, config),
            "their hosts are allowed and their secrets can be read",
            "set ROLECALL_SOURCE_HOSTS and ROLECALL_SOURCE_SECRETS as docs/sources.md says, for this command and for"
            " the worker; then run `rolecall source test APPLICATION`",
        ),
        _of_problems(
            "SCIM pushes",
            await pushes.problems(db, clock.now()),
            "their tokens are valid for a month or more",
            _ROTATE_PUSH,
        ),
        _of_problems(
            "carriers",
            await carriers.problems(db, config),
            "their hosts are allowed, their secrets can be read and no brake holds a request",
            "set ROLECALL_SOURCE_HOSTS and the secrets as docs/carriers.md says; look at what a brake holds with"
            " `rolecall carrier show APPLICATION`, then `rolecall carrier release APPLICATION`",
        ),
    ]


def _of_problems(name: str, found: list[str], well: str, advice: str) -> CheckResult:
    return trouble(name, _some(found), advice) if found else fine(name, well)


async def _notifications(db: Db) -> str:
    found = await notifications.problems(db, clock.now())
    if found.failing:
        said = [f"{each.channel} since {_moment(each.failing_since)}: {each.last_error}" for each in found.failing]
        return f"messages wait, because a channel cannot be used: {_some(said)}"
    return f"overdue since {_moment(found.overdue_since)}, because no worker sends them" if found.overdue_since else ""


async def _refused_addresses(db: Db) -> str:
    found = await notifications.problems(db, clock.now())
    said = [f"{each.address} ({each.response})" for each in found.refused]
    said += [f"the template of {kind}" for kind in found.broken_templates]
    said += [f"could not be written: {each}" for each in found.unwritten]
    if found.unsendable:
        said.insert(
            0, f"{counted(found.unsendable, 'person', 'people')} notified in the console only: no mail server is set up"
        )
    return f"not sent as intended: {_some(said)}" if said else ""


async def _tokens(db: Db) -> str:
    found = await tokens.with_refused_scopes(db, clock.now())
    said = [f"{each.name} of {each.owner.name} ({', '.join(each.refused_scopes)})" for each in found if each.owner]
    return f"the owner may no longer use these scopes, so they are refused: {_some(said)}" if said else ""


async def _push_tokens(db: Db) -> str:
    found = await pushes.tokens_of_leavers(db, clock.now())
    said = [f"{each.application}: {each.name} by {each.owner}" for each in found]
    return f"created by people who left, who may still know the secrets: {_some(said)}" if said else ""


async def _waiting_imports(db: Db) -> str:
    """Check for stuck imports; an import that is waiting for another one of its application is not stuck."""
    rows = await fetch_rows(
        db,
        """SELECT a.name || ' #' || i.number, i.created_at FROM application_imports i
           JOIN applications a ON a.id = i.application_id
           WHERE i.status = 'Pending' AND i.created_at < now() - %(long)s AND NOT EXISTS (
               SELECT FROM application_imports o WHERE o.application_id = i.application_id AND o.number < i.number
               AND o.status IN ('Pending', 'Running', 'Canceling'))
           ORDER BY i.number""",
        long=IMPORTS_WAIT,
    )
    return f"waiting since {_moment(rows[0][1])}: {_some([name for name, _ in rows])}" if rows else ""


async def _held_imports(db: Db) -> str:
    rows = await fetch_rows(
        db,
        """SELECT a.name || ' #' || i.number FROM import_runs r JOIN application_imports i ON i.id = r.import_id
           JOIN applications a ON a.id = i.application_id
           WHERE r.held IS NOT NULL AND i.status = 'Running' ORDER BY i.number""",
    )
    return f"the guard holds {_some([name for (name,) in rows])}" if rows else ""


async def _failing_imports(db: Db) -> str:
    failing = [schedule.name for schedule in await failing_schedules(db)]
    return f"failed three times in a row: {_some(failing)}" if failing else ""


async def _failing_reports(db: Db) -> str:
    failing = await reports.failing(db)
    return (
        f"the last run failed: {_some([f'{report.name} ({report.reason})' for report in failing])}" if failing else ""
    )


async def _unmatched(db: Db) -> CheckResult:
    rows = await fetch_rows(
        db,
        """SELECT count(*), count(*) FILTER (WHERE a.match IN ('Unmatched', 'Disputed'))
           FROM accounts a JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL""",
    )
    total, unmatched = rows[0]
    percent = 100 * unmatched / total if total else 0
    detail = f"{unmatched:,} of {total:,} accounts match no identity ({percent:.0f} %)"
    if percent <= MOST_UNMATCHED_PERCENT:
        return fine("unmatched accounts", detail)
    return CheckResult(
        "unmatched accounts",
        CheckState.WARNING,
        detail,
        "add an employee ID or e-mail column to the users file, or pin accounts in the console",
    )


async def _supervisors(db: Db) -> str:
    said = [" → ".join([*each, each[0]]) for each in await identities.supervisor_cycles(db)]
    return f"people supervise each other: {_some(said)}" if said else ""


async def _leftovers(db: Db) -> str:
    found = await leftovers(db, 1)
    if not found.total_count:
        return ""
    example = f"for example {found.items[0].username} in {found.items[0].application.name}"
    return f"{counted(found.total_count, 'active account')} of leavers without a request to remove them, {example}"


async def _audit(db: Db) -> CheckResult:
    verdict = await audit.verify(db)
    if verdict.broken is None:
        return fine("audit", f"{counted(verdict.count, 'entry', 'entries')} verified; the chain is intact")
    return trouble(
        "audit",
        f"entry {verdict.broken.number} is the first that fails verification: {verdict.broken.reason}",
        "the database was changed outside Rolecall: make no further changes, and compare it with a backup",
    )


_CHECKS = [
    DatabaseCheck(
        "worker",
        _worker,
        "a worker sent a heartbeat within 20 s",
        "start `rolecall serve` or `rolecall worker`; the worker's log says why it stopped",
    ),
    DatabaseCheck(
        "deliveries",
        _late_deliveries,
        "no overdue deliveries",
        "start `rolecall serve` or `rolecall worker`; if one runs, its log says why it sends nothing",
    ),
    DatabaseCheck(
        "webhooks",
        _hooks,
        "none is failing",
        "see the attempts (`rolecall delivery list`), fix the receiver, enable the webhook, and recover its deliveries",
    ),
    DatabaseCheck(
        "notifications",
        _notifications,
        "no channel is failing and no message is overdue",
        "correct the settings (`rolecall notify change`) and send a test (`rolecall notify test ADDRESS`); for overdue"
        " messages, start a worker",
    ),
    DatabaseCheck(
        "messages",
        _refused_addresses,
        "every message of the last 7 days was accepted, and every template can be used",
        "set up a mail server, correct the template, or correct the address in its source (`rolecall notify messages`)",
        CheckState.WARNING,
    ),
    DatabaseCheck(
        "tokens",
        _tokens,
        "the owner of every API token may use its scopes",
        "create a token without an owner for the program (`rolecall token create`), and revoke the old one",
        CheckState.WARNING,
    ),
    DatabaseCheck(
        "SCIM tokens",
        _push_tokens,
        "no valid SCIM token was created by a person who left",
        _ROTATE_PUSH,
        CheckState.WARNING,
    ),
    DatabaseCheck(
        "waiting imports",
        _waiting_imports,
        "no import has been waiting for long",
        "start `rolecall serve` or `rolecall worker`; if a worker runs, it is busy with other imports: start another",
    ),
    DatabaseCheck(
        "held imports",
        _held_imports,
        "the guard holds no import",
        "look at what it would change; continue it if that is correct, cancel it if the file is wrong",
    ),
    DatabaseCheck(
        "scheduled imports",
        _failing_imports,
        "no application's imports failed three times in a row",
        "the last line of the import's log says which file and line (`rolecall import log`)",
    ),
    DatabaseCheck(
        "scheduled reports",
        _failing_reports,
        "the last scheduled run of every report succeeded",
        "correct the location, the owner or the filters, then write the file (`rolecall reports write`)",
    ),
    DatabaseCheck(
        "supervisors",
        _supervisors,
        "no person is above themselves in the chain of supervisors",
        "correct the supervisor of one of them in the identity source",
        CheckState.WARNING,
    ),
    DatabaseCheck(
        "accounts of leavers",
        _leftovers,
        "every active account of a leaver has a request to remove it",
        "list them (`rolecall request leftovers`) and request their removal (`rolecall request create Remove`)",
        CheckState.WARNING,
    ),
]


def _moment(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M}Z"


def _some(names: list[str]) -> str:
    return some_of(names, _NAMED)
