"""Generate the employees of the sample company, identical in every run."""

import random
import unicodedata
from datetime import date, timedelta
from itertools import product
from typing import NamedTuple

COMPANY = "Halden Instruments"
DOMAIN = "halden.example"
OFFICES = ("Bergen", "Porto", "Toronto", "Pune")

# Division, department, headcount and titles; the head's title is first.
DEPARTMENTS = (
    ("Executive", "Executive Office", 5, ("Chief Executive Officer", "Chief of Staff", "Executive Assistant")),
    ("Technology", "Engineering", 38, ("VP Engineering", "Software Engineer", "Senior Engineer", "Test Engineer")),
    ("Technology", "IT Operations", 14, ("Head of IT", "Systems Engineer", "Service Desk Analyst")),
    ("Technology", "Information Security", 8, ("Security Officer", "Security Analyst", "Identity Engineer")),
    ("Finance", "Accounting", 14, ("Chief Accountant", "Accountant", "Accounts Payable Clerk")),
    ("Finance", "Treasury", 6, ("Treasurer", "Treasury Analyst")),
    ("Finance", "Internal Audit", 5, ("Head of Audit", "Auditor")),
    ("Commercial", "Sales", 30, ("VP Sales", "Account Manager", "Sales Engineer", "Sales Assistant")),
    ("Commercial", "Marketing", 14, ("Head of Marketing", "Content Editor", "Campaign Specialist")),
    ("Commercial", "Customer Support", 24, ("Head of Support", "Support Specialist", "Support Engineer")),
    ("Operations", "Supply Chain", 14, ("Head of Supply Chain", "Buyer", "Logistics Planner")),
    ("Operations", "Facilities", 6, ("Facility Manager", "Technician")),
    ("People", "Human Resources", 9, ("Head of People", "HR Partner", "Recruiter", "Payroll Specialist")),
    ("People", "Legal", 5, ("General Counsel", "Counsel", "Paralegal")),
)
SERVICE_ACCOUNTS = ("Backup Robot", "Build Robot", "Invoice Robot", "Monitoring Robot")
# The mailbox that all robots share.
ROBOTS = f"robots@{DOMAIN}"
CONTRACTORS = 5
# People who left during the year: their department, and how many days ago.
LEFT = (("Engineering", 210), ("Engineering", 95), ("Sales", 150), ("Accounting", 120))
_HEADS = {titles[0] for _, _, _, titles in DEPARTMENTS}
# The first people of each department, up to this number, joined before the simulated year.
_OLD_HANDS = 8

_FIRST = """
    Aino Amara Anders Beatriz Bjørn Carla Chidi Daria Diego Élise Emre Fatima Finn Gita Greta Hana Hugo Imani Ines Ivar
    Jamal Joana Kai Kavya Lars Leila Luca Maeve Malik Marta Mei Mira Nadia Nils Noor Olga Omar Paula Pedro Priya Quentin
    Rana Ravi Rosa Sami Sara Sofía Tariq Tomás Una Vera Viktor Wanda Xavier Yara Yusuf Zoë
"""
_LAST = """
    Aalto Abadi Almeida Andersen Bakker Banerjee Berg Bianchi Bose Castro Chen Costa Dahl Das Dubois Eriksen Esposito
    Fernandes Fischer García Gupta Haddad Hansen Hoang Ibrahim Iyer Jansen Jovanović Kaya Kim Kowalski Kumar Larsen
    Lindqvist Lopes Mäkinen Mbeki Meyer Moreau Nair Nakamura Nguyen Novák Okafor Olsen Ortiz Patel Pereira Petrov Ramos
    Rao Ricci Rossi Saito Santos Schmidt Sharma Silva Singh Tanaka Thorne Ueda Varga Vogel Wang Weber Wójcik Xu Yılmaz
    Zamora Østby
"""


class Employee(NamedTuple):
    employee_id: str
    first: str
    last: str
    type: str
    title: str
    division: str
    department: str
    office: str
    supervisor_id: str
    joined: date
    left: date | None = None

    @property
    def is_head(self) -> bool:
        return self.title in _HEADS

    def is_here(self, on: date) -> bool:
        return self.joined <= on and (self.left is None or on < self.left)

    @property
    def username(self) -> str:
        return f"{_plain(self.first)}.{_plain(self.last)}"

    @property
    def email(self) -> str:
        return ROBOTS if self.type == "Service Account" else f"{self.username}@{DOMAIN}"


def roster(today: date) -> list[Employee]:
    """Return the whole roster: the chief executive first, each head before their team, and leavers at the end."""
    # A fixed seed makes every run identical.
    chance = random.Random(1848)  # noqa: S311
    # Draw each name at most once, so that usernames are unique.
    names = chance.sample(list(product(_FIRST.split(), _LAST.split())), 400)
    people: list[Employee] = []

    def join(type: str, title: str, division: str, department: str, supervisor_id: str) -> Employee:
        first, last = names.pop()
        joined = today - timedelta(days=chance.randint(60, 4000))
        office = chance.choice(OFFICES)
        number = f"E{1001 + len(people)}"
        person = Employee(number, first, last, type, title, division, department, office, supervisor_id, joined)
        if sum(other.department == department for other in people) < _OLD_HANDS:
            person = person._replace(joined=min(joined, today - timedelta(days=400)))
        people.append(person)
        return person

    boss = ""
    for division, department, size, (head_title, *titles) in DEPARTMENTS:
        head = join("Employee", head_title, division, department, boss).employee_id
        # The chief executive, the head of the first department, supervises all other heads.
        boss = boss or head
        for _ in range(size - 1):
            join("Employee", chance.choice(titles), division, department, head)
    engineering, operations = (_head_of(people, name) for name in ("Engineering", "IT Operations"))
    for _ in range(CONTRACTORS):
        join("Vendor", "Contractor", "Technology", "Engineering", engineering)
    for name in SERVICE_ACCOUNTS:
        first, last = name.split()
        robot = join("Service Account", "", "Technology", "IT Operations", operations)
        people[-1] = robot._replace(first=first, last=last)
    for department, days in LEFT:
        division, title = next((one[0], one[3][1]) for one in DEPARTMENTS if one[1] == department)
        leaver = join("Employee", title, division, department, _head_of(people, department))
        left = today - timedelta(days=days)
        people[-1] = leaver._replace(joined=min(leaver.joined, today - timedelta(days=400)), left=left)
    return people


def _head_of(people: list[Employee], department: str) -> str:
    return next(person.employee_id for person in people if person.department == department)


def _plain(name: str) -> str:
    """Transliterate a name for e-mail addresses: `Øyvind` becomes `oyvind`."""
    # Unicode does not decompose these letters.
    bare = name.casefold().translate(str.maketrans("øłı", "oli"))
    return "".join(c for c in unicodedata.normalize("NFKD", bare) if c.isascii() and c.isalpha())
