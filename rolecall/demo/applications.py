"""The applications of the sample company and the files they export for import."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any, NamedTuple

from rolecall.demo.people import COMPANY, Employee

Table = list[Sequence[str]]


class DemoPermission(NamedTuple):
    header: str
    section: str
    permission: str
    description: str
    risk: str


class Application(NamedTuple):
    """An application; `groups` maps names to description and member departments, `grants` groups to permissions."""

    name: str
    vendor: str
    priority: str
    owner: str
    nomenclature: str
    departments: tuple[str, ...]
    groups: dict[str, tuple[str, tuple[str, ...]]]
    grants: dict[str, tuple[DemoPermission, ...]]


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
        "Domain Admins": ("Full control of the directory", ("Information Security",)),
    },
    {},
)  # fmt: skip
FINANCE_LEDGER = Application(
    "Finance Ledger", "Abacus Systems", "Critical", "Accounting", "Role", (*_FINANCE, "Supply Chain"),
    {
        "Bookkeeper": ("Posts journals", ("Accounting",)),
        "Payments Officer": ("Prepares and releases payments", ("Treasury",)),
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
            DemoPermission("Payments", "Runs", "Release payment run", "Send money out of the company", "Critical"),
        ),
        "Ledger Auditor": (DemoPermission("General Ledger", "Reports", "Read all ledgers", "Read-only", "Low"),),
        "Purchaser": (DemoPermission("Purchasing", "Orders", "Create order", "Up to 10,000", "Moderate"),),
    },
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


def files_of(application: Application, people: Sequence[Employee], today: date) -> dict[str, bytes]:
    """Return the content of the exported files by file group."""
    users = [person for person in people if _works_in(person, application.departments)]
    members = {
        group: [person for person in users if _works_in(person, departments)]
        for group, (_, departments) in application.groups.items()
    }
    tables: dict[str, Callable[[], Table]] = {
        "Users": lambda: _users(users, today),
        "Groups": lambda: [
            ("Group", "Description", "Nomenclature"),
            *((group, text, application.nomenclature) for group, (text, _) in application.groups.items()),
        ],
        "Memberships": lambda: [
            ("Username", "Group"),
            *((person.username, group) for group, persons in members.items() for person in persons),
        ],
        "Permissions": lambda: [
            ("Group", "Header", "Section", "Permission", "Access", "Description", "Risk Rating"),
            *(
                (group, p.header, p.section, p.permission, "Grant", p.description, p.risk)
                for group, permissions in application.grants.items()
                for p in permissions
            ),
        ],
    }
    if not application.grants:
        del tables["Permissions"]
    return {group: _csv(make()) for group, make in tables.items()}


def _users(users: Iterable[Employee], today: date) -> Table:
    header = ("Username", "Name", "Email", "Employee ID", "Active", "Last Login", "Office")
    return [
        header,
        *(
            (p.username, f"{p.first} {p.last}", p.email, p.employee_id, "Yes", today.isoformat(), p.office)
            for p in users
        ),
    ]


def _works_in(person: Employee, departments: tuple[str, ...]) -> bool:
    return departments == _ALL or person.department in departments


def _csv(rows: Table) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
