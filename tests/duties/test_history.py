"""Compare conflicts with a naive evaluation over random histories of imports, matches, duties and rules."""

import random
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from itertools import combinations
from typing import Any
from uuid import UUID

import msgspec
from psycopg import Rollback

from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.ids import new_id
from rolecall.duties import actions as duties
from tests.builders import an_application, an_identity, facts
from tests.duties.separating import finish_again
from tests.nesting import ways_up

GROUPS, ACCOUNTS = ["Alpha", "Beta", "Beta two", "Delta"], ["ann", "bob", "cid", "dan"]
PERMISSIONS = ["Enter wire", "Approve wire", "Audit wire"]
PATTERNS: list[dict[str, str]] = [
    {"permission": "Enter*"},
    {"permission": "*wire", "access": "Modify"},
    {"application": "bank", "group": "beta*"},
    {"header": "Wires", "permission": "Approve wire"},
    {"group": "Alpha"},
    {"application": "Nowhere", "group": "*"},
]
RANK = {"Deny": 0, "Grant": 1, "Modify": 2, "Unrestricted": 3}
START = datetime(2026, 1, 1, tzinfo=UTC)
STEPS = 10
# The number of the control duty. Rules keep only duties with lower numbers apart.
CONTROL = 4


class Access(msgspec.Struct):
    """What imports and matches show at one time; keys of `given` are a holder and a permission."""

    owners: dict[str, int | None]
    memberships: set[tuple[str, str]]
    parents: dict[str, str]
    given: dict[tuple[str, str], str]


class Rule(msgspec.Struct):
    conflicts: list[int]
    without: int | None
    enabled: bool = True


class World(msgspec.Struct):
    moments: list[tuple[datetime, Access]]
    patterns: list[list[dict[str, str]]]
    rules: list[Rule]
    # When each open conflict began, by rule and person, and the conflicts that have ended.
    open: dict[tuple[int, int], datetime]
    ended: list[tuple[int, int, datetime, datetime]]

    def evaluate(self) -> None:
        """Evaluate naively: for every person and rule, go back in time until there is no conflict."""
        now = self.moments[-1][0]
        found = {(n, who) for n in range(len(self.rules)) for who in range(3) if self.conflicts(n, who, -1)}
        for key in [key for key in self.open if key not in found]:
            self.ended.append((*key, self.open.pop(key), now))
        for key in found - self.open.keys():
            since = now
            for place in range(len(self.moments) - 1, -1, -1):
                if not self.conflicts(*key, place):
                    break
                since = self.moments[place][0]
            self.open[key] = max([since, *(until for *ended, _, until in self.ended if tuple(ended) == key)])

    def conflicts(self, rule: int, who: int, place: int) -> bool:
        meant = self.rules[rule]
        held = {duty for duty in range(len(self.patterns)) if self.holds(who, duty, place)}
        return meant.enabled and meant.without not in held and len(held & set(meant.conflicts)) > 1

    def holds(self, who: int, duty: int, place: int) -> bool:
        access = self.moments[place][1]
        mine = [name for name in ACCOUNTS if self.owner(name, place) == who]
        held = [entry for name in mine for entry in held_by(access, name)]
        return any(fits(pattern, *entry) for pattern in self.patterns[duty] for entry in held)

    def owner(self, name: str, place: int) -> int | None:
        """Return the owner of an account at a time; the first recorded match also applies to earlier times."""
        matches = [access.owners[name] for _, access in self.moments]
        if all(owner is None for owner in [*matches[:place], matches[place]]):
            return next((owner for owner in matches if owner is not None), None)
        return matches[place]


def held_by(access: Access, account: str) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, name and access of everything that an account holds."""
    above = {group for name, start in access.memberships if name == account for group in ways_up(access.parents, start)}
    yield from (("group", group, "Grant") for group in above)
    yield from (("permission", name, level) for (who, name), level in access.given.items() if who in {account, *above})


def fits(pattern: dict[str, str], kind: str, name: str, level: str) -> bool:
    wanted = pattern.get(kind)
    there = fnmatch("bank", pattern.get("application", "*").lower())
    enough = RANK[level] >= RANK[pattern.get("access", "Grant")]
    return there and wanted is not None and enough and fnmatch(name.lower(), wanted.lower())


class History:
    """Apply the same random steps to the database and to the naive model."""

    def __init__(self, db: Db, choose: random.Random) -> None:
        self.db, self.choose, self.clock = db, choose, START
        empty = Access(dict.fromkeys(ACCOUNTS), set(), dict.fromkeys(GROUPS, ""), {})
        self.world = World([(START, empty)], [], [], {}, [])
        self.people: list[UUID] = []
        self.duties: list[UUID] = []
        self.rules: list[UUID] = []

    async def begin(self) -> None:
        self.bank = await an_application(self.db, "Bank")
        self.people = [await an_identity(self.db, name, "Person") for name in ("Ada", "Bea", "Cyd")]
        for name in ACCOUNTS:
            await execute(
                self.db,
                """INSERT INTO accounts (application_id, username, matched_on)
                   VALUES (%(bank)s, %(name)s, %(now)s)""",
                bank=self.bank,
                name=name,
                now=START,
            )
        await self.imported(self.world.moments[-1][1])
        for n in range(CONTROL + 1):
            self.world.patterns.append(self.choose.sample(PATTERNS, 2))
            raw = {"name": f"Duty {n}", "patterns": self.world.patterns[-1]}
            self.duties.append((await duties.create_duty(self.db, raw, self.facts())).id)
        for act in (self.change_rule, self.change_rule, *[self.match_someone] * 4, *[self.import_something] * 3):
            self.clock += timedelta(days=1)
            await act()
            self.world.evaluate()

    def facts(self) -> Any:
        return facts(now=self.clock)

    async def step(self) -> None:
        self.clock += timedelta(days=1)
        kinds = [self.import_something] * 5 + [self.match_someone] * 3 + [self.change_duty, self.change_rule] * 2
        async with self.db.transaction():
            await self.choose.choice(kinds)()
        self.world.evaluate()

    def next_access(self) -> Access:
        access = deepcopy(self.world.moments[-1][1])
        self.world.moments.append((self.clock, access))
        return access

    async def import_something(self) -> None:
        access, choose = self.next_access(), self.choose
        for _ in range(choose.randint(2, 6)):
            match choose.randint(0, 3):
                case 0:
                    access.memberships ^= {(choose.choice(ACCOUNTS), choose.choice(GROUPS))}
                case 1:
                    access.parents[choose.choice(GROUPS)] = choose.choice(["", *GROUPS])
                case _:
                    key = choose.choice([*ACCOUNTS, *GROUPS]), choose.choice(PERMISSIONS)
                    if access.given.pop(key, None) is None:
                        access.given[key] = choose.choice([*RANK])
        await self.imported(access)

    async def imported(self, access: Access) -> None:
        """Write what changed since the last import, as an import does, and finish the new import."""
        run = await fetch_value(
            self.db,
            """INSERT INTO application_imports
                   (id, application_id, type, status, created_by, created_at, build_start)
               VALUES (%(id)s, %(bank)s, 'API', 'Running', 'tests', %(now)s, %(now)s) RETURNING number""",
            id=new_id(),
            bank=self.bank,
            now=self.clock,
        )
        for sql in _WRITES:
            await execute(
                self.db,
                sql,
                run=run,
                bank=self.bank,
                accounts=[name for name, _ in access.memberships],
                groups=[group for _, group in access.memberships],
                names=list(access.parents),
                parents=list(access.parents.values()),
                permissions=PERMISSIONS,
                holders=[who for who, _ in access.given],
                given=[name for _, name in access.given],
                levels=list(access.given.values()),
            )
        await finish_again(self.db, run, self.clock)

    async def match_someone(self) -> None:
        access, name = self.next_access(), self.choose.choice(ACCOUNTS)
        access.owners[name] = who = self.choose.choice([0, 1, 2, 0, 1, 2, None])
        await execute(
            self.db,
            "UPDATE accounts SET identity_id = %(who)s, matched_on = %(now)s WHERE username = %(name)s",
            who=None if who is None else self.people[who],
            now=self.clock,
            name=name,
        )
        await duties.evaluate_waiting(self.db, self.clock)

    async def change_duty(self) -> None:
        self.next_access()
        n = self.choose.randrange(len(self.duties))
        self.world.patterns[n] = self.choose.sample(PATTERNS, self.choose.randint(1, 3))
        await duties.change_duty(self.db, str(self.duties[n]), {"patterns": self.world.patterns[n]}, self.facts())

    async def change_rule(self) -> None:
        self.next_access()
        every = [
            rule for rule in combinations(range(4), 2) if all(set(rule) != set(r.conflicts) for r in self.world.rules)
        ]
        if self.rules and (not every or self.choose.random() < 0.5):
            n = self.choose.randrange(len(self.rules))
            rule = self.world.rules[n]
            rule.enabled = not rule.enabled
            await duties.change_rule(self.db, str(self.rules[n]), {"enabled": rule.enabled}, self.facts())
        else:
            n, rule = len(self.rules), Rule([*self.choose.choice(every)], None)
            self.world.rules.append(rule)
            raw = {"name": f"Rule {n}", "conflicts": [str(self.duties[duty]) for duty in rule.conflicts]}
            self.rules.append((await duties.create_rule(self.db, raw, self.facts())).id)
        if n == 0:
            rule.without = self.choose.choice([CONTROL, None])
            given = {"without": str(self.duties[CONTROL]) if rule.without is not None else None}
            await duties.change_rule(self.db, str(self.rules[n]), given, self.facts())
        await duties.commit_rule(self.db, SYSTEM, str(self.rules[n]), self.clock)

    async def stored(self) -> tuple[dict[tuple[int, int], datetime], list[tuple[int, int, datetime, datetime]]]:
        rows = await fetch_rows(self.db, "SELECT rule_id, identity_id, since, until FROM conflicts")
        found = [(self.rules.index(rule), self.people.index(who), *times) for rule, who, *times in rows]
        open = {(rule, who): since for rule, who, since, until in found if until is None}
        return open, sorted(entry for entry in found if entry[3] is not None)


_WRITES = [
    "INSERT INTO groups (application_id, name) SELECT %(bank)s, unnest(%(names)s::text[]) ON CONFLICT DO NOTHING",
    """INSERT INTO permissions (application_id, header, section, permission)
       SELECT %(bank)s, 'Wires', '', unnest(%(permissions)s::text[]) ON CONFLICT DO NOTHING""",
    """INSERT INTO permission_versions SELECT number, %(run)s, NULL, '', 'Low' FROM permissions p
       WHERE NOT EXISTS (SELECT FROM permission_versions v WHERE v.permission_number = p.number)""",
    """UPDATE group_versions v SET until_import = %(run)s FROM groups g, unnest(%(names)s::text[], %(parents)s::text[])
           AS n (name, parent)
       WHERE v.group_number = g.number AND g.name = n.name AND v.until_import IS NULL AND v.parent <> n.parent""",
    """INSERT INTO group_versions (group_number, from_import, description, nomenclature, parent, metadata)
       SELECT g.number, %(run)s, '', '', n.parent, '{}' FROM groups g
       JOIN unnest(%(names)s::text[], %(parents)s::text[]) AS n (name, parent) ON n.name = g.name
       WHERE NOT EXISTS (SELECT FROM group_versions v WHERE v.group_number = g.number AND v.until_import IS NULL)""",
    """UPDATE memberships m SET until_import = %(run)s FROM accounts a, groups g
       WHERE m.account_number = a.number AND m.group_number = g.number AND m.until_import IS NULL
         AND (a.username, g.name) NOT IN (SELECT * FROM unnest(%(accounts)s::text[], %(groups)s::text[]))""",
    """INSERT INTO memberships SELECT a.number, g.number, %(run)s, NULL
       FROM unnest(%(accounts)s::text[], %(groups)s::text[]) AS n (username, name)
       JOIN accounts a ON a.username = n.username JOIN groups g ON g.name = n.name
       WHERE NOT EXISTS (SELECT FROM memberships m WHERE m.account_number = a.number AND m.group_number = g.number
                                                      AND m.until_import IS NULL)""",
    """UPDATE assignments s SET until_import = %(run)s FROM permissions p,
           (SELECT number, username AS name FROM accounts UNION ALL SELECT number, name FROM groups) AS h
       WHERE s.holder_number = h.number AND s.permission_number = p.number AND s.until_import IS NULL
         AND (h.name, p.permission, s.access::text) NOT IN (
             SELECT * FROM unnest(%(holders)s::text[], %(given)s::text[], %(levels)s::text[]))""",
    """INSERT INTO assignments SELECT h.number, p.number, n.level::access, %(run)s, NULL, ''
       FROM unnest(%(holders)s::text[], %(given)s::text[], %(levels)s::text[]) AS n (name, permission, level)
       JOIN (SELECT number, username AS name FROM accounts UNION ALL SELECT number, name FROM groups) AS h USING (name)
       JOIN permissions p USING (permission)
       WHERE NOT EXISTS (SELECT FROM assignments s WHERE s.holder_number = h.number AND s.permission_number = p.number
                                                      AND s.until_import IS NULL)""",
]
_DERIVED = ("duty_entitlements", "duty_groups", "duty_holders", "duty_rule_duties")


async def derived(db: Db) -> list[list[Any]]:
    read = [await fetch_rows(db, f"SELECT to_jsonb(t) FROM {table} t ORDER BY t::text") for table in _DERIVED]
    open = await fetch_rows(db, "SELECT rule_id, identity_id FROM conflicts WHERE until IS NULL ORDER BY 1, 2")
    return [*read, open]


async def test_incremental_full_and_naive_evaluation_agree_at_every_step(db: Db) -> None:
    seen = 0
    for seed in range(8):
        async with db.transaction() as tried:
            history = History(db, random.Random(seed))
            await history.begin()
            for _ in range(STEPS):
                await history.step()
                open, ended = await history.stored()
                assert open == history.world.open, (seed, history.clock)
                assert ended == sorted(history.world.ended), (seed, history.clock)
                seen += len(open)
                await check_against_full(db, history.clock)
            raise Rollback(tried)
    assert seen > 50


async def check_against_full(db: Db, now: datetime) -> None:
    kept = await derived(db)
    async with db.transaction() as tried:
        for table in _DERIVED:
            await execute(db, f"DELETE FROM {table}")
        await execute(db, "SELECT evaluate_everything(%(now)s)", now=now)
        assert await derived(db) == kept
        raise Rollback(tried)
