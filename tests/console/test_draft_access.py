"""Test that the wizard asks about columns that may contain access, and reads them as groups or permissions."""

import re
from typing import Any

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from tests.application_imports.running import Imports
from tests.builders import an_application
from tests.console.test_drafts import fields, uploaded

_ASKED = re.compile(r"<strong>([^<]+)</strong>[^<]*is not read as access, but may be")
_USERS = "login,name,enabled"


def asked(page: str) -> list[str]:
    return _ASKED.findall(page)


async def decided(administrator: httpx2.AsyncClient, draft: str, header: str, content: str, db: Db) -> str:
    """Click a button of the question about a column, and return the page."""
    page = (await administrator.get(draft)).text
    columns = await fetch_value(db, "SELECT proposal #> '{files,0,columns}' FROM dry_runs")
    at = next(n for n, column in enumerate(columns) if column["header"] == header)
    answer = await administrator.post(draft, data={**fields(page), "access": f"0|{at}|{content}"})
    assert answer.status_code == 303, answer.text
    return (await administrator.get(draft)).text


async def held(administrator: httpx2.AsyncClient, draft: str, imports: Imports, db: Db) -> tuple[set[Any], set[Any]]:
    """Import the draft, and return the memberships and the permissions."""
    page = (await administrator.get(draft)).text
    await administrator.post(draft, data={**fields(page), "dry-run": "yes"})
    await imports.work_on_dry_runs()
    saved = await administrator.post(f"{draft}/save")
    await imports.work()
    assert "Finished" in (await administrator.get(saved.headers["location"])).text
    memberships = await fetch_rows(
        db,
        """SELECT a.username, g.name FROM memberships m JOIN accounts a ON a.number = m.account_number
           JOIN groups g ON g.number = m.group_number""",
    )
    permissions = await fetch_rows(
        db,
        """SELECT c.username, p.permission, a.access::text, coalesce(a.value, '') FROM assignments a
           JOIN permissions p ON p.number = a.permission_number JOIN accounts c ON c.number = a.holder_number""",
    )
    return set(memberships), set(permissions)


@pytest.mark.parametrize(
    ("text", "header", "content", "memberships", "permissions"),
    [
        (
            f"{_USERS},Super User\nada,Ada Byron,yes,Yes\nbob,Bob Kahn,yes,No\ncy,Cy Dee,no,Yes\n",
            "Super User",
            "permissions",
            set(),
            {("ada", "Super User", "Grant", ""), ("cy", "Super User", "Grant", "")},
        ),
        (
            f"{_USERS},Role,Super User\nada,Ada Byron,yes,A,Yes\nbob,Bob Kahn,yes,A,No\ncy,Cy Dee,no,B,Yes\n",
            "Super User",
            "permissions",
            {("ada", "A"), ("bob", "A"), ("cy", "B")},
            {("ada", "Super User", "Grant", ""), ("cy", "Super User", "Grant", "")},
        ),
        (
            f"{_USERS},Zones\nada,Ada Byron,yes,North;South\nbob,Bob Kahn,yes,South\ncy,Cy Dee,no,\n",
            "Zones",
            "memberships",
            {("ada", "North"), ("ada", "South"), ("bob", "South")},
            set(),
        ),
        (
            f"{_USERS},Jira\nada,Ada Byron,yes,Admin\nbob,Bob Kahn,yes,None\ncy,Cy Dee,no,User\n",
            "Jira",
            "permissions",
            set(),
            {("ada", "Jira", "Grant", "Admin"), ("cy", "Jira", "Grant", "User")},
        ),
        (
            f"{_USERS},Jira\nada,Ada Byron,yes,Admin\nbob,Bob Kahn,yes,None\ncy,Cy Dee,no,User\n",
            "Jira",
            "memberships",
            {("ada", "Admin"), ("cy", "User")},
            set(),
        ),
        (
            f"{_USERS},Groups,Tier\nada,A B,yes,A;B,gold\nbob,B K,yes,,gold\ncy,C D,no,B,tin\nd,D E,no,A,tin\n",
            "Tier",
            "memberships",
            {
                ("ada", "A"),
                ("ada", "B"),
                ("ada", "gold"),
                ("bob", "gold"),
                ("cy", "B"),
                ("cy", "tin"),
                ("d", "A"),
                ("d", "tin"),
            },
            set(),
        ),
        (
            '[{"login": "ada", "name": "Ada Byron", "repos": [{"slug": "pay"}, {"slug": "web"}]},'
            ' {"login": "bob", "name": "Bob Kahn", "repos": [{"slug": "web"}]}]',
            "repos[].slug",
            "permissions",
            set(),
            {("ada", "pay", "Grant", ""), ("ada", "web", "Grant", ""), ("bob", "web", "Grant", "")},
        ),
        (
            f"{_USERS},Area\nada,Ada Byron,yes,*NONE\nbob,Bob Kahn,yes,North\ncy,Cy Dee,no,North\nd,Dee Fox,no,*NONE\n",
            "Area",
            "memberships",
            {("bob", "North"), ("cy", "North")},
            set(),
        ),
        (
            f"{_USERS},Zones\nada,Ada Byron,yes,N;S\nbob,Bob Kahn,yes,none;S\ncy,Cy Dee,no,n/a\nd,Dee Fox,no,N\n",
            "Zones",
            "memberships",
            {("ada", "N"), ("ada", "S"), ("bob", "S"), ("d", "N")},
            set(),
        ),
    ],
    ids=[
        "ticks",
        "ticks beside a role",
        "list",
        "levels",
        "levels as groups",
        "beside groups",
        "records",
        "none",
        "none in a list",
    ],
)
async def test_column_is_read_as_access_after_a_click(
    administrator: httpx2.AsyncClient,
    client: httpx2.AsyncClient,
    db: Db,
    config: Config,
    text: str,
    header: str,
    content: str,
    memberships: set[Any],
    permissions: set[Any],
) -> None:
    draft = await uploaded(administrator, text=text)
    assert asked((await administrator.get(draft)).text) == [header]

    page = await decided(administrator, draft, header, content, db)

    assert asked(page) == []
    assert await held(administrator, draft, Imports(client, config), db) == (memberships, permissions)


async def test_column_that_is_not_access_is_not_asked_about_again(administrator: httpx2.AsyncClient, db: Db) -> None:
    draft = await uploaded(administrator, text=f"{_USERS},VIP\nada,Ada Byron,yes,Yes\nbob,Bob Kahn,yes,No\n")
    page = (await administrator.get(draft)).text
    assert "1 column may be access" in page
    assert "All answered" not in page

    page = await decided(administrator, draft, "VIP", "no", db)

    assert asked(page) == []
    assert "All answered" in page
    assert "<strong>Kept as details, not as access:</strong> VIP." in page
    assert await fetch_value(db, "SELECT draft #> '{connector,files,0,shape}' FROM dry_runs") is not None


@pytest.mark.parametrize("decision", ["0|99|no", "7|0|no", "0|0|identities", "x", "0|0|memberships", "0|3|place"])
async def test_malformed_decision_is_refused(administrator: httpx2.AsyncClient, decision: str) -> None:
    draft = await uploaded(administrator, text=f"{_USERS},VIP\nada,Ada Byron,yes,Yes\nbob,Bob Kahn,yes,No\n")

    answer = await administrator.post(draft, data={"access": decision})

    assert answer.status_code == 400
    assert "This form is out of date" in answer.text


async def test_warnings_are_at_the_top_of_an_import_and_of_a_dry_run(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports = Imports(client, config)
    application = await an_application(
        db, connector={"name": "Files", "files": [{"name": "Users", "content": "users"}]}
    )
    await imports.finish(application, {"Users": "Username\nada\nbob\n"})
    run = await imports.finish(application, {"Users": "Username,VIP\nada,Yes\nbob,No\n"})
    page = (await administrator.get(f"/imports/{run['id']}")).text
    assert "<li>Users: users.csv: new column VIP is kept (detail of accounts) and has yes and no" in page

    draft = await uploaded(administrator, text=f"{_USERS},VIP\nada,Ada Byron,yes,Yes\nbob,Bob Kahn,yes,No\n")
    await administrator.post(draft, data={**fields((await administrator.get(draft)).text), "dry-run": "yes"})
    await imports.work_on_dry_runs()

    assert (
        "<li>Some columns may be access but are not read as access: VIP. Decide how to read them</li>"
        in (await administrator.get(draft)).text
    )


async def test_columns_with_the_same_words_are_levels_of_the_permissions_in_their_headers(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    text = (
        f"{_USERS},mail,city,Create,Approve,Super User\nada,Ada Byron,yes,a@x.org,Rome,Write,Read,Yes\n"
        "bob,Bob Kahn,yes,b@x.org,Oslo,Read,-,No\ncy,Cy Dee,no,c@x.org,Bonn,Write,Write,No\n"
        "d,Dee Fox,no,d@x.org,Lima,Read,-,No\n"
    )
    draft = await uploaded(administrator, text=text)

    for header in ("Create", "Approve", "Super User"):
        page = await decided(administrator, draft, header, "permissions", db)

    assert asked(page) == []
    assert await held(administrator, draft, Imports(client, config), db) == (
        set(),
        {
            ("ada", "Create", "Grant", "Write"),
            ("ada", "Approve", "Grant", "Read"),
            ("ada", "Super User", "Grant", "Yes"),
            ("bob", "Create", "Grant", "Read"),
            ("cy", "Create", "Grant", "Write"),
            ("cy", "Approve", "Grant", "Write"),
            ("d", "Create", "Grant", "Read"),
        },
    )


async def test_column_that_cannot_be_added_is_read_instead_of_the_proposed_one(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    rows = "ada,ERP,Clerk,Secret\nada,CRM,Clerk,Open\nbob,ERP,Boss,Secret\nbob,CRM,Clerk,*NONE\n"
    draft = await uploaded(administrator, text=f"user,application,role,clearance\n{rows}")
    assert "Read as permissions instead of role</button>" in (await administrator.get(draft)).text

    await decided(administrator, draft, "clearance", "permissions", db)

    _, permissions = await held(administrator, draft, Imports(client, config), db)
    assert permissions == {("ada", "Secret", "Grant", ""), ("ada", "Open", "Grant", ""), ("bob", "Secret", "Grant", "")}


_GRANTS = (
    "Matricule;Nom;Ecran;Niveau;Etat du compte\nU001;Benali;SAISIE;Ecriture;ACTIF\n"
    "U001;Benali;VALIDATION;Lecture;ACTIF\nU002;Idrissi;SAISIE;Ecriture;ACTIF\nU003;Tazi;ADMIN;Ecriture;SUSPENDU\n"
    "U003;Tazi;VALIDATION;Lecture;SUSPENDU\nU004;Amrani;SAISIE;Lecture;PARTI\n"
)


async def test_details_that_differ_between_the_grants_of_an_account_are_not_kept(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    draft = await uploaded(administrator, text=_GRANTS)
    page = (await administrator.get(draft)).text
    assert "choose the username first" in page
    assert asked(page) == ["Ecran", "Niveau"]
    for answer in ("Username|Matricule", "values.Active.PARTI|No"):
        await administrator.post(draft, data={**fields(page), "answer": f"0|0|{answer}"})
        page = (await administrator.get(draft)).text

    await decided(administrator, draft, "Ecran", "permissions", db)
    page = await decided(administrator, draft, "Niveau", "no", db)

    assert "because rows of one account differ in them: Ecran, Niveau" in page
    _, permissions = await held(administrator, draft, Imports(client, config), db)
    assert {row[:2] for row in permissions} == {
        ("U001", "SAISIE"),
        ("U001", "VALIDATION"),
        ("U002", "SAISIE"),
        ("U003", "ADMIN"),
        ("U003", "VALIDATION"),
        ("U004", "SAISIE"),
    }
    active = await fetch_rows(
        db, "SELECT a.username FROM accounts a JOIN account_versions v ON v.account_number = a.number WHERE v.is_active"
    )
    assert {row[0] for row in active} == {"U001", "U002"}


async def test_dry_run_says_that_an_import_would_fail(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, config: Config
) -> None:
    draft = await uploaded(administrator, text="login,name\nada,Ada Byron\nbob,Bob Kahn\nada,Ada King\n")
    await administrator.post(draft, data={**fields((await administrator.get(draft)).text), "dry-run": "yes"})
    await Imports(client, config).work_on_dry_runs()

    page = (await administrator.get(draft)).text

    assert "An import would fail" in page
    assert "Every row can be read" not in page


async def test_columns_can_contain_the_place_and_the_level_of_permissions(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    rows = "ada,Ada Byron,yes,Sell,East,High\nbob,Bob Kahn,yes,Sell,West,High\ncy,Cy Dee,no,Buy,East,Low\n"
    text = f"{_USERS},Activity,Area,Tier\n{rows}d,Dee Fox,no,Buy,West,Low\n"
    draft = await uploaded(administrator, text=text)
    assert "Where the permission applies" not in (await administrator.get(draft)).text

    await decided(administrator, draft, "Activity", "permissions", db)
    await decided(administrator, draft, "Area", "place", db)
    page = await decided(administrator, draft, "Tier", "level", db)

    assert asked(page) == []
    _, permissions = await held(administrator, draft, Imports(client, config), db)
    assert ("ada", "Sell", "Grant", "High") in permissions
    assert await fetch_rows(db, "SELECT section, permission FROM permissions ORDER BY 1, 2") == [
        ("East", "Buy"),
        ("East", "Sell"),
        ("West", "Buy"),
        ("West", "Sell"),
    ]


async def test_groups_hold_what_a_column_of_a_file_of_groups_names(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    text = "role,allowed_groups,description\nClerk,Desk;Vpn,Front\nNurse,Ward;Vpn,Ward\nHelp,Vpn;Tools,Service\n"
    draft = await uploaded(administrator, text=text)

    page = await decided(administrator, draft, "allowed_groups", "permissions", db)

    assert asked(page) == []
    await held(administrator, draft, Imports(client, config), db)
    assert await fetch_rows(
        db,
        """SELECT g.name, p.permission FROM assignments a JOIN permissions p ON p.number = a.permission_number
           JOIN groups g ON g.number = a.holder_number ORDER BY 1, 2""",
    ) == [("Clerk", "Desk"), ("Clerk", "Vpn"), ("Help", "Tools"), ("Help", "Vpn"), ("Nurse", "Vpn"), ("Nurse", "Ward")]


async def test_words_of_a_status_are_not_read_as_permissions(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    text = (
        "                List of roles\n Role name |     Attributes     | Member of \n"
        "-----------+--------------------+-----------\n"
        " ada       | Superuser          | {}\n bob       |                    | {ada}\n"
        " readers   | Cannot login       | {}\n"
    )
    draft = await uploaded(administrator, text=text)

    await decided(administrator, draft, "Attributes", "permissions", db)

    _, permissions = await held(administrator, draft, Imports(client, config), db)
    assert permissions == {("ada", "Superuser", "Grant", "")}


async def test_roles_in_place_of_a_status_are_read_as_groups(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    rows = "ada,a@x.org,Primary Owner\nbob,b@x.org,Admin\ncy,c@x.org,Member\ndi,d@x.org,Deactivated\n"
    draft = await uploaded(administrator, text=f"username,email,status\n{rows}")
    assert asked((await administrator.get(draft)).text) == ["status"]

    await decided(administrator, draft, "status", "memberships", db)

    memberships, _ = await held(administrator, draft, Imports(client, config), db)
    assert memberships == {("ada", "Primary Owner"), ("bob", "Admin"), ("cy", "Member")}


async def test_usernames_that_differ_in_capitals_are_one_account_after_a_click(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    rows = "ada,a@x.org,web,Owner\nbob,b@x.org,web,Guest\nAda,a@x.org,pay,Guest\nada,a@x.org,ops,Guest\n"
    draft = await uploaded(administrator, text=f"Username,Email,Path,Access Level\n{rows}")
    page = (await administrator.get(draft)).text
    assert "ada, Ada differ only in case. Are they the same account?" in page

    data = {**fields(page), "answer": "0|0|join.Username|{Username|lower}"}
    assert (await administrator.post(draft, data=data)).status_code == 303

    assert "differ only in case" not in (await administrator.get(draft)).text
    _, permissions = await held(administrator, draft, Imports(client, config), db)
    assert {row[0] for row in permissions} == {"ada", "bob"}
    assert await fetch_value(db, "SELECT count(*) FROM accounts") == 2


async def test_column_says_where_groups_apply(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    rows = "a1,Ada Byron,yes,Clerk,East\nb1,Bob Kahn,yes,Clerk,West\nc1,Cy Dee,no,Boss,East\nd1,Dee Fox,no,Boss,\n"
    draft = await uploaded(administrator, text=f"{_USERS},Role,Area\n{rows}e1,Eve Gray,no,Boss,West\n")
    assert "Where the group applies</button>" in (await administrator.get(draft)).text

    page = await decided(administrator, draft, "Area", "scope", db)

    assert asked(page) == []
    memberships, _ = await held(administrator, draft, Imports(client, config), db)
    assert memberships == {
        ("a1", "East: Clerk"),
        ("b1", "West: Clerk"),
        ("c1", "East: Boss"),
        ("d1", "Boss"),
        ("e1", "West: Boss"),
    }
