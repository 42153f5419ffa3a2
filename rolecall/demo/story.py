"""Define the history of the sample company. Days are relative to today: -3 is three days ago."""

from typing import NamedTuple

from rolecall.access_requests.model import RequestEvent
from rolecall.core.roles import Role
from rolecall.demo.applications import (
    CORPORATE_DIRECTORY,
    CUSTOMER_DESK,
    FINANCE_LEDGER,
    PAYROLL,
    SOURCE_CONTROL,
    Application,
)

FIRST_DAY = -365
# The applications that export files before the last month, by day. In the last month, every day is simulated.
EXPORTS: dict[int, tuple[Application, ...]] = {
    -310: (FINANCE_LEDGER,),
    -255: (FINANCE_LEDGER,),
    -195: (FINANCE_LEDGER,),
    -140: (FINANCE_LEDGER,),
    -90: (FINANCE_LEDGER, CORPORATE_DIRECTORY),
    -45: (FINANCE_LEDGER, SOURCE_CONTROL),
}
# The days on which the records of people are exported too.
PEOPLE_DAYS = (-195, -45)
LAST_MONTH = -30
# The day on which some applications export changed files.
DRIFT_DAY = -6
DRIFTING = (CORPORATE_DIRECTORY, CUSTOMER_DESK)
# The day and the application of a truncated file; the guard holds its import.
SHORT_DAY, SHORT = -1, CORPORATE_DIRECTORY


class Who(NamedTuple):
    """An employee, identified by department and position; the head of a department has position 0."""

    department: str
    position: int


class StoryEvent(NamedTuple):
    """A personnel event; `kind` is the path of the operation that creates it."""

    day: int
    kind: str
    who: Who | None
    effective: int
    comment: str = ""
    end: int | None = None
    identity: dict[str, str] | None = None
    canceled: str = ""


class AwayPeriod(NamedTuple):
    """A period in which a stand-in responds for a person; day 0 is today."""

    person: Who
    stand_in: Who
    since: int
    until: int
    comment: str


STAND_INS = (
    AwayPeriod(Who("Internal Audit", 0), Who("Internal Audit", 1), 0, 10, "Annual leave"),
    AwayPeriod(Who("Treasury", 0), Who("Accounting", 0), 20, 34, "Visits the banks"),
)


def _newcomer(first: str, last: str, title: str, division: str, department: str, office: str) -> dict[str, str]:
    place = {"title": title, "division": division, "department": department, "office": office}
    return {"firstName": first, "lastName": last, **place}


EVENTS = (
    StoryEvent(-27, "onboard", None, -16, "Laptop is ordered",
          identity=_newcomer("Ingrid", "Solheim", "Software Engineer", "Technology", "Engineering", "Bergen")),
    StoryEvent(-25, "offboard", Who("Sales", 3), -15, "Resigned"),
    StoryEvent(-22, "leave-of-absence", Who("Legal", 1), -14, "Parental leave", end=-5),
    StoryEvent(-20, "role-transition", Who("Customer Support", 2), -9, "Moves to the northern accounts",
          identity={"title": "Account Manager", "department": "Sales"}),
    StoryEvent(-12, "leave-of-absence", Who("Engineering", 8), -4, "Sabbatical", end=40),
    StoryEvent(-10, "onboard", None, -2,
          identity=_newcomer("Mateus", "Rocha", "Account Manager", "Commercial", "Sales", "Porto")),
    StoryEvent(-8, "offboard", Who("Facilities", 1), 30, "End of contract", canceled="The contract was extended"),
    StoryEvent(-8, "offboard", Who("Customer Support", 9), -3, "Moves abroad"),
    StoryEvent(-6, "offboard", Who("Marketing", 2), 1, "Leaves for university"),
    StoryEvent(-5, "leave-of-absence", Who("Human Resources", 2), 2, "Return date not known yet"),
    StoryEvent(-4, "role-transition", Who("Engineering", 5), 3, "Joins the platform team",
          identity={"title": "Systems Engineer", "department": "IT Operations"}),
    StoryEvent(-3, "onboard", None, 11, "Replaces a retiring colleague",
          identity=_newcomer("Anjali", "Menon", "Accountant", "Finance", "Accounting", "Pune")),
    StoryEvent(-2, "offboard", Who("Treasury", 1), 12),
    StoryEvent(-1, "role-transition", Who("Accounting", 3), 15, "Six months in treasury", end=195,
          identity={"title": "Treasury Analyst", "department": "Treasury"}),
    StoryEvent(-1, "onboard", None, 20,
          identity=_newcomer("Oskar", "Lund", "Support Specialist", "Commercial", "Customer Support", "Toronto")),
)  # fmt: skip


class Model(NamedTuple):
    """An access model: who gets which groups."""

    name: str
    description: str
    field: str
    value: str
    groups: tuple[tuple[Application, str], ...]
    is_draft: bool = False


MODELS = (
    Model("Employee", "What everyone who works here gets", "type", "Employee", ((CORPORATE_DIRECTORY, "Staff"),)),
    Model("Engineering", "To build and ship our software", "department", "Engineering",
          ((SOURCE_CONTROL, "Developers"), (CORPORATE_DIRECTORY, "Remote Access"))),
    Model("Sales", "To look after accounts, also on the road", "department", "Sales",
          ((CUSTOMER_DESK, "Account Manager"), (CORPORATE_DIRECTORY, "Remote Access"))),
    Model("Customer Support", "To answer customers", "department", "Customer Support",
          ((CUSTOMER_DESK, "Support Agent"),)),
    Model("Accounting", "To keep the books", "department", "Accounting",
          ((FINANCE_LEDGER, "Bookkeeper"), (CORPORATE_DIRECTORY, "Finance Share"))),
    Model("Treasury", "To pay what we owe", "department", "Treasury",
          ((FINANCE_LEDGER, "Payments Officer"), (CORPORATE_DIRECTORY, "Finance Share"))),
    Model("Marketing", "To run campaigns; still to be agreed", "department", "Marketing",
          ((CUSTOMER_DESK, "Campaigner"),), is_draft=True),
)  # fmt: skip


class HeldGrant(NamedTuple):
    """A permission that a person held directly, in addition to their groups; `until=1` (tomorrow) means still held."""

    application: Application
    who: Who
    permission: str
    since: int
    until: int = 1


# Grants begin on the first day or on a day of EXPORTS, and end on a day of EXPORTS: only an export shows a change.
GRANTS = (
    HeldGrant(FINANCE_LEDGER, Who("Accounting", 2), "Release payment run", -365, -255),
    HeldGrant(FINANCE_LEDGER, Who("Internal Audit", 1), "Release payment run", -365, -195),
    HeldGrant(FINANCE_LEDGER, Who("Supply Chain", 2), "Release payment run", -310, -195),
    HeldGrant(FINANCE_LEDGER, Who("Supply Chain", 1), "Release payment run", -140),
    HeldGrant(FINANCE_LEDGER, Who("Accounting", 4), "Release payment run", -90),
    HeldGrant(FINANCE_LEDGER, Who("Treasury", 4), "Release payment run", -90),
    HeldGrant(FINANCE_LEDGER, Who("Supply Chain", 4), "Release payment run", -90, -45),
    HeldGrant(FINANCE_LEDGER, Who("Internal Audit", 2), "Reverse journal", -255, -90),
    HeldGrant(PAYROLL, Who("Treasury", 2), "Read salaries", -365),
)


class Description(NamedTuple):
    """The curated fields of an entitlement; `former` is its name before it was renamed."""

    application: Application
    name: str
    display: str
    explanation: str
    owner: Who
    privileged: bool = True
    risk: str = ""
    tags: tuple[str, ...] = ()
    former: str = ""


# The day on which entitlements get descriptions, after the last of `EXPORTS`.
DESCRIBED_DAY = -40
DESCRIPTIONS = (
    Description(FINANCE_LEDGER, "Release payment run", "Release payments",
                "Sends approved payments to the bank. Money leaves the company.", Who("Treasury", 0),
                tags=("payments", "sox")),
    Description(FINANCE_LEDGER, "Payments Officer", "", "Prepares payment runs.", Who("Treasury", 0),
                tags=("payments",)),
    Description(FINANCE_LEDGER, "Reverse journal", "", "Undoes an entry that was posted.", Who("Accounting", 0),
                privileged=False, tags=("sox",)),
    Description(FINANCE_LEDGER, "Ledger Auditor", "", "Reads every ledger and changes nothing.",
                Who("Internal Audit", 0), privileged=False, former="Audit Reader"),
    Description(PAYROLL, "Change salary", "Change salaries", "Changes a person's pay from the next run on.",
                Who("Human Resources", 0), tags=("personal data",)),
    Description(CORPORATE_DIRECTORY, "Domain Admins", "Domain administrator",
                "Full control of every account and server.", Who("Information Security", 0), risk="Critical"),
    Description(CORPORATE_DIRECTORY, "Server Operators", "", "Starts, stops and updates servers.",
                Who("IT Operations", 0), risk="High"),
    Description(CUSTOMER_DESK, "Export customer list", "",
                "Copies names and addresses of all customers to a file.", Who("Sales", 0), privileged=False,
                tags=("personal data",)),
    # The owner of this permission left three days ago, so the owner of the application takes their place.
    Description(CUSTOMER_DESK, "Answer tickets", "", "Replies to customers in the name of the company.",
                Who("Customer Support", 9), privileged=False),
)  # fmt: skip


class Hook(NamedTuple):
    """A webhook receiver and its response; `callbacks` are the strings that it posts back later."""

    name: str
    path: str
    events: tuple[RequestEvent, ...]
    status: int
    answer: str
    callbacks: tuple[str, ...] = ()
    paused: bool = False


# Console roles other than the administrator's.
ROLES = {
    Who("Human Resources", 0): Role.OPERATOR,
    Who("Sales", 0): Role.REVIEWER,
    Who("IT Operations", 1): Role.PROVISIONER,
    Who("Legal", 0): Role.AUDITOR,
}
# The day on which the webhooks are created.
HOOKS_DAY = -3
# One receiver works, one is down, and the third responds with 410 Gone, which disables its webhook.
HOOKS = (
    Hook("Ticket system", "tickets", tuple(RequestEvent), 201, '{"ticket": "HAL-1042"}',
         ("HAL-1042 is with the service desk", "HAL-1041 was closed: the account was created"), paused=True),
    Hook("Chat alerts", "alerts", (RequestEvent.CREATED, RequestEvent.REOPENED), 503, "Down for maintenance"),
    Hook("Old intranet", "intranet", (RequestEvent.COMPLETED,), 410, "This page has moved"),
)  # fmt: skip

Privilege = tuple[str, str, str]
_RELEASE: Privilege = ("Payments", "Runs", "Release payment run")
_PREPARE: Privilege = ("Payments", "Runs", "Prepare payment run")
_REVERSE: Privilege = ("General Ledger", "Journals", "Reverse journal")
_EXPORT: Privilege = ("Accounts", "Export", "Export customer list")
_EDIT: Privilege = ("Accounts", "Records", "Edit accounts")
_SALARIES: Privilege = ("Salaries", "", "Read salaries")
_REMOTE: Privilege = ("Security Group", "", "Remote Access")
_DEVELOPERS: Privilege = ("Team", "", "Developers")


class Request(NamedTuple):
    """An access request; `steps` are the actions that people took on it, in order."""

    action: str
    application: Application
    who: Who
    privileges: tuple[Privilege, ...]
    comment: str
    steps: tuple[str, ...] = ()
    start: int | None = None
    group: str = ""


# Requests made before the last month, by day relative to today. The files exported on the day of a request already show
# its result.
EARLIER = {
    -310: Request("Add", FINANCE_LEDGER, Who("Supply Chain", 2), (_RELEASE,), "Pays suppliers until a treasurer starts",
                  ("approve", "assign", "resolve")),
    -140: Request("Add", FINANCE_LEDGER, Who("Supply Chain", 1), (_RELEASE,), "Pays suppliers while treasury is away",
                  ("approve", "assign", "resolve")),
    -90: Request("Add", FINANCE_LEDGER, Who("Supply Chain", 4), (_RELEASE,), "Covers the holidays",
                 ("approve", "assign", "resolve")),
}  # fmt: skip
REQUESTS = (
    Request("Add", FINANCE_LEDGER, Who("Treasury", 3), (_PREPARE, _RELEASE), "Covers the payment runs in December",
            ("approve one",)),
    Request("Add", CUSTOMER_DESK, Who("Marketing", 4), (_EXPORT,), "For the customer survey"),
    Request("Add", SOURCE_CONTROL, Who("Information Security", 2), (_DEVELOPERS,), "Joins the review rota",
            ("approve",), start=5),
    Request("Change", CUSTOMER_DESK, Who("Sales", 6), (_EDIT, _EXPORT), "Takes over the key accounts",
            ("approve", "assign", "comment")),
    Request("Remove", CORPORATE_DIRECTORY, Who("Sales", 9), (_REMOTE,), "Works at the office again", ("assign",)),
    Request("Suspend", SOURCE_CONTROL, Who("Engineering", 12), (), "Laptop lost; until it is replaced",
            ("assign", "snooze")),
    Request("Add", CORPORATE_DIRECTORY, Who("Supply Chain", 3), (_REMOTE,), "Visits suppliers",
            ("approve", "assign", "resolve")),
    Request("Change", FINANCE_LEDGER, Who("Accounting", 5), (_REVERSE,), "Year-end corrections",
            ("approve", "resolve", "reopen", "resolve")),
    Request("Add", PAYROLL, Who("Human Resources", 4), (_SALARIES,), "New payroll specialist",
            ("approve", "assign", "resolve")),
    Request("Add", CUSTOMER_DESK, Who("Customer Support", 7), (_EDIT,), "Second-level support",
            ("approve", "assign", "resolve", "verify")),
    Request("Suspend", SOURCE_CONTROL, Who("Engineering", 20), (), "Away on a customer project", ("resolve",)),
    Request("Restore", SOURCE_CONTROL, Who("Engineering", 20), (), "Back from a customer project",
            ("approve", "resolve", "verify")),
    Request("Add", FINANCE_LEDGER, Who("Supply Chain", 5), (_RELEASE,), "To pay suppliers faster", ("reject",)),
    Request("Remove", PAYROLL, Who("Treasury", 2), (_SALARIES,), "No longer needed", ("cancel",)),
    Request("Change", FINANCE_LEDGER, Who("Accounting", 0), (_PREPARE,), "All bookkeepers prepare runs", (),
            group="Bookkeeper"),
)  # fmt: skip
# The privileges that people request on ordinary days.
USUAL: tuple[tuple[Application, Privilege], ...] = (
    (FINANCE_LEDGER, ("General Ledger", "Reports", "Read all ledgers")),
    (FINANCE_LEDGER, _REVERSE),
    (CUSTOMER_DESK, ("Campaigns", "Mail", "Send campaign")),
    (CUSTOMER_DESK, _EXPORT),
    (SOURCE_CONTROL, ("Team", "", "Release Managers")),
)
REQUESTS_A_DAY = 2
# The days without requests in each week, counted from today (modulo 7): the data must not depend on the weekday.
DAYS_OFF = (2, 3)
REMARK = "Waiting for the vendor to confirm the licence"
