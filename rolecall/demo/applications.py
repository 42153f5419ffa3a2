"""Define the applications of the sample company, and generate the files that they export."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from rolecall.demo.people import COMPANY, ROBOTS, Employee

Table = list[Sequence[str]]


class DemoPermission(NamedTuple):
    header: str
    section: str
    permission: str
    description: str
    risk: str


class OtherAccount(NamedTuple):
    """An account that belongs to no employee, or whose owner is unknown."""

    username: str
    name: str
    email: str
    groups: tuple[str, ...]


class Application(NamedTuple):
    """An application of the sample company.

    `groups` maps names to a description and member departments, `grants` maps groups to permissions, and `parents` maps
    groups to their parent group. The members of a group in `leads` are the heads of its departments, who are not direct
    members of its parent group. `renamed` maps groups to their former name and the days since the rename.
    """

    name: str
    vendor: str
    priority: str
    owner: str
    nomenclature: str
    departments: tuple[str, ...]
    groups: dict[str, tuple[str, tuple[str, ...]]]
    grants: dict[str, tuple[DemoPermission, ...]]
    parents: Mapping[str, str] = MappingProxyType({})
    leads: tuple[str, ...] = ()
    renamed: Mapping[str, tuple[str, int]] = MappingProxyType({})
    others: tuple[OtherAccount, ...] = ()
    # Whether the accounts of leavers stay active, so that the console has leftovers to show.
    keeps_leavers: bool = False


class DirectGrant(NamedTuple):
    """A permission that an account holds directly between two days; `until=1` (tomorrow) means still held."""

    application: Application
    username: str
    permission: DemoPermission
    since: int
    until: int = 1


_ALL = ("*",)
_FINANCE = ("Accounting", "Treasury", "Internal Audit")
_COMMERCIAL = ("Sales", "Marketing", "Customer Support")

PEOPLE_RECORDS = "People Records"
CORPORATE_DIRECTORY = Application(
    "Corporate Directory", "Lantern Software", "Critical", "IT Operations", "Security Group", _ALL,
    {
        "Staff": ("Everyone who works here", _ALL),
        "Remote Access": ("May connect from outside", ("Engineering", "IT Operations", "Sales", "Executive Office")),
        "Finance Share": ("The finance folders", _FINANCE),
        "Privileged Users": ("Must sign in with two factors", ()),
        "Server Operators": ("Run the servers", ("IT Operations",)),
        "Domain Admins": ("Full control of the directory", ("Information Security",)),
    },
    {},
    parents={"Server Operators": "Privileged Users", "Domain Admins": "Server Operators"},
    others=(
        OtherAccount("svc-backup", "Backup service", "", ("Server Operators",)),
        OtherAccount("svc-robots", "Robots", ROBOTS, ("Remote Access",)),
        OtherAccount("guest.wifi", "", "", ()),
    ),
)  # fmt: skip
_RELEASE_RUN = DemoPermission("Payments", "Runs", "Release payment run", "Send money out of the company", "Critical")
FINANCE_LEDGER = Application(
    "Finance Ledger", "Abacus Systems", "Critical", "Accounting", "Role", (*_FINANCE, "Supply Chain"),
    {
        "Bookkeeper": ("Posts journals", ("Accounting",)),
        "Payments Officer": ("Prepares payments", ("Treasury",)),
        "Payment Approvers": ("Release what others prepared", ()),
        "Treasury Leads": ("Payments officers who also plan and release the runs", ("Treasury",)),
        "Ledger Auditor": ("Reads everything, changes nothing", ("Internal Audit",)),
        "Purchaser": ("Raises purchase orders", ("Supply Chain",)),
    },
    {
        "Bookkeeper": (
            DemoPermission("General Ledger", "Journals", "Post journal", "Post entries to an open period", "Moderate"),
            DemoPermission("General Ledger", "Journals", "Reverse journal", "Undo a posted entry", "High"),
        ),
        "Payments Officer": (
            DemoPermission("Payments", "Runs", "Prepare payment run", "Collect what is due", "Moderate"),
        ),
        "Payment Approvers": (_RELEASE_RUN,),
        "Treasury Leads": (_RELEASE_RUN,),
        "Ledger Auditor": (DemoPermission("General Ledger", "Reports", "Read all ledgers", "Read-only", "Low"),),
        "Purchaser": (DemoPermission("Purchasing", "Orders", "Create order", "Up to 10,000", "Moderate"),),
    },
    parents={"Treasury Leads": "Payments Officer"},
    leads=("Treasury Leads",),
    renamed={"Ledger Auditor": ("Audit Reader", 200)},
    others=(OtherAccount("PAYSVC", "Payment gateway", "", ("Payments Officer",)),),
)  # fmt: skip
CUSTOMER_DESK = Application(
    "Customer Desk", "Harbor CRM", "High", "Sales", "Profile", _COMMERCIAL,
    {
        "Account Manager": ("Owns accounts and offers", ("Sales",)),
        "Campaigner": ("Runs campaigns", ("Marketing",)),
        "Support Agent": ("Answers tickets", ("Customer Support",)),
    },
    {
        "Account Manager": (
            DemoPermission("Accounts", "Records", "Edit accounts", "Own accounts only", "Low"),
            DemoPermission("Accounts", "Export", "Export customer list", "Personal data leaves the system", "High"),
        ),
        "Campaigner": (DemoPermission("Campaigns", "Mail", "Send campaign", "To opted-in contacts", "Moderate"),),
        "Support Agent": (DemoPermission("Tickets", "Queue", "Answer tickets", "", "Low"),),
    },
)  # fmt: skip
SOURCE_CONTROL = Application(
    "Source Control", "Branchworks", "High", "Engineering", "Team", ("Engineering", "IT Operations"),
    {
        "Developers": ("Write to all repositories", ("Engineering",)),
        "Release Managers": ("Publish releases", ("IT Operations",)),
    },
    {},
    parents={"Release Managers": "Developers"},
    others=(OtherAccount("deploy-bot", "Deployment", "", ("Release Managers",)),),
    keeps_leavers=True,
)  # fmt: skip
PAYROLL = Application(
    "Payroll", "Paylane", "Moderate", "Human Resources", "Role", ("Human Resources", "Treasury"),
    {"Payroll Clerk": ("Prepares the monthly run", ("Human Resources",))},
    {
        "Payroll Clerk": (
            DemoPermission("Salaries", "", "Read salaries", "Everyone's pay", "High"),
            DemoPermission("Salaries", "", "Change salary", "Takes effect in the next run", "Critical"),
        )
    },
)  # fmt: skip
APPLICATIONS = (CORPORATE_DIRECTORY, FINANCE_LEDGER, CUSTOMER_DESK, SOURCE_CONTROL, PAYROLL)


def permission_of(application: Application, name: str) -> DemoPermission:
    return next(one for given in application.grants.values() for one in given if one.permission == name)


def body_of_people_records() -> dict[str, Any]:
    files = [{"name": "Identities", "content": "identities"}]
    connector = {"name": f"{PEOPLE_RECORDS} export", "vendor": "Rosterhouse", "files": files}
    return {"name": PEOPLE_RECORDS, "priority": "High", "isIdentitySource": True, "connector": connector}


def body_of(application: Application, owner_id: str, provisioner_ids: list[str]) -> dict[str, Any]:
    """Return the body of `POST /api/applications`."""
    users = {"name": "Users", "content": "users"}
    others = ("Groups", "Memberships", "Permissions")
    optional = [{"name": name, "content": name.lower(), "isOptional": True} for name in others]
    return {
        "name": application.name,
        "priority": application.priority,
        "ownerId": owner_id,
        "provisionerIds": provisioner_ids,
        "connector": {"name": f"{application.name} export", "vendor": application.vendor, "files": [users, *optional]},
    }


def identities_file(people: Iterable[Employee]) -> bytes:
    header = ("Employee ID", "First Name", "Last Name", "Email", "Type", "Title", "Company", "Division", "Department",
              "Office", "Supervisor ID", "Created")  # fmt: skip
    rows = [
        (p.employee_id, p.first, p.last, p.email, p.type, p.title, COMPANY, p.division, p.department, p.office,
         p.supervisor_id, p.joined.isoformat())
        for p in people
    ]  # fmt: skip
    return _csv([header, *rows])


def files_of(
    application: Application, people: Sequence[Employee], today: date, grants: Iterable[DirectGrant] = (), day: int = 0
) -> dict[str, bytes]:
    """Return the file of each file group, as exported on the simulated date `today`.

    `day` says how many days `today` is from the real date, as a negative number. Exports of the last month use 0,
    because no grants change in that month.
    """
    kept = [p for p in people if p.is_here(today) or (application.keeps_leavers and p.joined <= today)]
    users = [person for person in kept if _works_in(person, application.departments)]
    names = {
        group: application.renamed[group][0] if group in application.renamed and day < -application.renamed[group][1]
        else group
        for group in application.groups
    }  # fmt: skip
    given = [one for one in grants if one.application == application and one.since <= day < one.until]
    tables: dict[str, Callable[[], Table]] = {
        "Users": lambda: _users(application, users, today, day),
        "Groups": lambda: [
            ("Group", "Description", "Nomenclature", "Parent"),
            *(
                (names[group], text, application.nomenclature, application.parents.get(group, ""))
                for group, (text, _) in application.groups.items()
            ),
        ],
        "Memberships": lambda: [
            ("Username", "Group"),
            *((user, names[group]) for group in application.groups for user in _members(application, group, users)),
        ],
        "Permissions": lambda: [
            ("Username", "Group", "Header", "Section", "Permission", "Access", "Description", "Risk Rating"),
            *(("", names[group], *_permission(p)) for group, held in application.grants.items() for p in held),
            *((one.username, "", *_permission(one.permission)) for one in given),
        ],
    }
    if not application.grants:
        del tables["Permissions"]
    return {group: _csv(make()) for group, make in tables.items()}


def _permission(p: DemoPermission) -> tuple[str, ...]:
    return p.header, p.section, p.permission, "Grant", p.description, p.risk


def _members(application: Application, group: str, users: Iterable[Employee]) -> list[str]:
    """Return the usernames of a group's members.

    A group in `leads` has only department heads as members, who are not direct members of its parent group.
    """
    departments = application.groups[group][1]
    above = {application.parents[lead] for lead in application.leads}
    members = [
        person.username
        for person in users
        if _works_in(person, departments)
        and (person.is_head if group in application.leads else not (person.is_head and group in above))
    ]
    return [*members, *(other.username for other in application.others if group in other.groups)]


def _users(application: Application, users: Iterable[Employee], today: date, day: int) -> Table:
    header = ("Username", "Name", "Email", "Employee ID", "Active", "Last Login", "Office")
    return [
        header,
        *(
            (p.username, f"{p.first} {p.last}", p.email, p.employee_id, "Yes", _last_login(p, today, day), p.office)
            for p in users
        ),
        *((one.username, one.name, one.email, "", "Yes", "", "") for one in application.others),
    ]


def _last_login(person: Employee, today: date, day: int) -> str:
    """Return the last login of a person in an export on the simulated date `today`.

    Most people logged in on that day. Every twentieth person has not logged in for 125 days as of the real date, which
    is `today` minus `day` days. Nobody logs in after they left.
    """
    now = today - timedelta(days=day)
    is_away = int(person.employee_id[1:]) % 20 == 7
    last = min(today, now - timedelta(days=125)) if is_away else today
    return min(last, person.left or last).isoformat()


def _works_in(person: Employee, departments: tuple[str, ...]) -> bool:
    return departments == _ALL or person.department in departments


def _csv(rows: Table) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
