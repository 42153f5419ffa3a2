"""Import every real export of `../shared/samples`, from the proposal to PostgreSQL, and check the result.

The expectations are computed from the files without the importer, or written by hand.
"""

import csv
import json
import os
import re
from pathlib import Path

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.file_shapes.importing import Imported, import_proposed, propose

FOLDER = Path(os.environ.get("ROLECALL_SAMPLES") or Path(__file__).parents[2].parent / "shared" / "samples")
TESTED = set[str]()


def of_samples(*names: str) -> pytest.MarkDecorator:
    """Mark a test with the samples that it imports, so that samples without a test can be found."""
    TESTED.update(names)
    return pytest.mark.usefixtures("samples")


@pytest.fixture
def samples() -> None:
    """If there is no folder of samples, fail in continuous integration and skip the test elsewhere."""
    if not FOLDER.is_dir():
        said = f"{FOLDER} is missing: put the samples beside the checkout, or name them in ROLECALL_SAMPLES"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(said)


class Samples:
    """Import samples by name, as proposed."""

    def __init__(self, client: httpx2.AsyncClient, config: Config, db: Db) -> None:
        self.client, self.config, self.db = client, config, db

    async def imported(self, *names: str) -> Imported:
        before = contents(*names)
        found = await import_proposed(self.client, self.config, self.db, before)
        assert contents(*names) == before
        return found


@pytest.fixture
def sample(client: httpx2.AsyncClient, config: Config, db: Db) -> Samples:
    return Samples(client, config, db)


def contents(*names: str) -> dict[str, bytes]:
    return {name: (FOLDER / name).read_bytes() for name in names}


def rows_of(name: str, delimiter: str = ",") -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.mark.usefixtures("samples")
def test_every_sample_is_tested() -> None:
    assert {path.name for path in FOLDER.iterdir()} - {"README.md"} == TESTED


@of_samples("02-get-aduser-properties-star.csv")
async def test_get_aduser_with_all_properties_is_read(sample: Samples) -> None:
    found = await sample.imported("02-get-aduser-properties-star.csv")

    rows = rows_of("02-get-aduser-properties-star.csv")
    assert found.active == {row["SamAccountName"] for row in rows if row["Enabled"] == "True"}
    assert found.inactive == {row["SamAccountName"] for row in rows if row["Enabled"] == "False"}
    assert (len(found.active), len(found.inactive)) == (7, 6)
    assert found.columns["Administrator"]["login"] == "2021-05-16T10:46:24Z"
    assert found.columns["danny"]["login"] == "2021-04-03T21:55:13Z"
    groups = {(row["SamAccountName"], row["PrimaryGroup"][3:].partition(",")[0]) for row in rows}
    assert found.memberships == groups
    assert (found.groups, found.permissions) == ({"Domain Users", "Domain Guests"}, set())
    assert "ADPropertyValueCollection" not in str(found.columns)


@of_samples("03-okta-users.csv")
async def test_okta_users_with_a_list_of_applications_are_read(sample: Samples) -> None:
    found = await sample.imported("03-okta-users.csv")

    max, yamada, sam = (f"{name}@district.org" for name in ("max", "yamada", "sam"))
    assert (found.active, found.inactive) == ({max, yamada, sam}, set())
    assert found.groups == {"Gmail", "Zoom", "SIS", "Canvas"}
    assert found.memberships == {
        (max, "Gmail"), (max, "Zoom"), (max, "SIS"), (yamada, "Gmail"), (sam, "Gmail"), (sam, "Canvas"),
    }  # fmt: skip
    assert found.columns[sam]["email"] == sam


SAP_ROLES = {("JITEN", "Z_MM_DISPLAY"), ("JITEN", "Z_FI_INPUT"), ("ANITA", "Z_SD_ADMIN"), ("ROHAN", "Z_MM_DISPLAY"),
             ("ROHAN", "Z_SD_ADMIN")}  # fmt: skip
SAP_VALUES = {("Z_MM_DISPLAY", "ME23N"), ("Z_FI_INPUT", "FB01"), ("Z_FI_INPUT", "F-02"), ("Z_SD_ADMIN", "VA01"),
              ("Z_SD_ADMIN", "VL01N")}  # fmt: skip


@of_samples("05-sap-agr_users.csv")
async def test_sap_users_are_derived_from_their_roles(sample: Samples) -> None:
    found = await sample.imported("05-sap-agr_users.csv")

    assert (found.active, found.inactive) == ({"JITEN", "ANITA", "ROHAN"}, set())
    assert found.memberships == SAP_ROLES


@of_samples("06-sap-agr_1251.csv")
async def test_sap_roles_with_their_authorizations_are_read(sample: Samples) -> None:
    found = await sample.imported("05-sap-agr_users.csv", "06-sap-agr_1251.csv")

    assert found.active == {"JITEN", "ANITA", "ROHAN"}
    assert found.memberships == SAP_ROLES
    assert found.permissions == {(role, "S_TCODE", "TCD", value, "Grant") for role, value in SAP_VALUES}


async def test_sap_authorizations_alone_are_read(sample: Samples, samples: None) -> None:
    found = await sample.imported("06-sap-agr_1251.csv")

    assert found.groups == {"Z_MM_DISPLAY", "Z_FI_INPUT", "Z_SD_ADMIN"}
    assert found.permissions == {(role, "S_TCODE", "TCD", value, "Grant") for role, value in SAP_VALUES}
    assert found.active == set()


@of_samples("07-azure-bulk-create.csv")
async def test_entra_bulk_form_below_a_version_line_is_read(sample: Samples) -> None:
    found = await sample.imported("07-azure-bulk-create.csv")

    assert (len(found.active), found.inactive) == (15, set())
    tony = found.columns["tstark@christopherleyoutlook.onmicrosoft.com"]
    assert (tony["name"], tony["first"], tony["last"]) == ("Tony Stark", "Tony", "Stark")
    assert "myPassword1234" not in str(found.columns)


@of_samples("08-ad-users.csv", "09-ad-groupmemberships.csv")
async def test_active_directory_users_and_memberships_are_read(sample: Samples) -> None:
    found = await sample.imported("08-ad-users.csv", "09-ad-groupmemberships.csv")

    assert (found.active, found.inactive) == ({"SClaus"}, set())
    assert found.memberships == {("SClaus", "Remote Desktop Users"), ("SClaus", "NorthPoleAdmins")}
    assert found.columns["SClaus"]["email"] == "SClaus@somedomainsomewhere.com"
    assert found.columns["SClaus"]["name"] == "Santa Claus"


@pytest.mark.parametrize("name", ["08-ad-users.csv", "09-ad-groupmemberships.csv"])
async def test_each_active_directory_file_alone_is_read(sample: Samples, samples: None, name: str) -> None:
    found = await sample.imported(name)

    assert (found.active, found.inactive) == ({"SClaus"}, set())


@of_samples("11-hr_feed.csv")
async def test_hr_feed_is_a_source_of_people(sample: Samples) -> None:
    found = await sample.imported("11-hr_feed.csv")

    assert found.people == {
        ("101", "Alice", "Green", "Active"),
        ("102", "Bob", "White", "Disabled"),
        ("103", "Carlos", "Brown", "Active"),
        ("104", "Diana", "Black", "Active"),
        ("105", "Eva", "Gray", "Disabled"),
    }


@of_samples("12-okta-jml.csv")
async def test_employee_ids_name_the_accounts(sample: Samples) -> None:
    found = await sample.imported("12-okta-jml.csv")

    assert (found.active, found.inactive) == ({"101", "104", "105", "107"}, set())
    assert found.columns["107"]["name"] == "Gina Lopez"
    assert found.columns["107"]["employee"] == "107"


@of_samples("14-midpoint-users-orgs.csv")
async def test_semicolon_file_with_organizations_separated_by_number_signs_is_read(sample: Samples) -> None:
    found = await sample.imported("14-midpoint-users-orgs.csv")

    assert (found.active, found.inactive) == ({"001", "002", "003", "004", "005"}, set())
    assert found.memberships == {("001", "org1"), ("001", "org2"), ("002", "org1"), ("003", "org2"), ("005", "org3")}
    assert "password" not in str(found.columns)


@of_samples("15-midpoint-hris.csv")
async def test_hr_export_with_coded_titles_and_leave_is_read(sample: Samples) -> None:
    found = await sample.imported("15-midpoint-hris.csv")

    status = {"Active": "Active", "Former employee": "Disabled", "Long-term leave": "Active"}
    rows = rows_of("15-midpoint-hris.csv")
    assert found.people == {(row["empnum"], row["firstname"], row["surname"], status[row["status"]]) for row in rows}
    assert len(found.people) == 50


def uids() -> set[str]:
    return set(re.findall(r"^uid: (\S+)$", (FOLDER / "18-midpoint-people.ldif").read_text(), re.MULTILINE))


def members() -> set[tuple[str, str]]:
    """Return the members of each group, without the placeholder that every group has."""
    found, group = set(), ""
    for line in (FOLDER / "19-midpoint-appgroups.ldif").read_text().splitlines():
        if line.startswith("cn: "):
            group = line[4:].strip()
        if match := re.match(r"member: uid=([^,]+),", line):
            found.add((match[1], group))
    return found


@of_samples("18-midpoint-people.ldif")
async def test_ldif_of_people_is_read(sample: Samples) -> None:
    found = await sample.imported("18-midpoint-people.ldif")

    assert (found.active, found.inactive) == (uids(), set())
    assert len(found.active) == 39
    assert (found.columns["afreeman"]["name"], found.columns["afreeman"]["employee"]) == ("Alex Freeman", "1010")
    assert "userpassword" not in str(found.columns)


@of_samples("19-midpoint-appgroups.ldif")
async def test_ldif_of_groups_with_a_placeholder_is_read(sample: Samples) -> None:
    found = await sample.imported("19-midpoint-appgroups.ldif")

    assert len(found.groups) == 18
    assert found.memberships == members()
    assert found.active == {username for username, _ in members()}


async def test_ldif_of_people_and_groups_together_is_read(sample: Samples, samples: None) -> None:
    found = await sample.imported("18-midpoint-people.ldif", "19-midpoint-appgroups.ldif")

    assert found.active == uids()
    assert found.memberships == members()


OAA = ("groups", "role_permissions", "roles", "user_groups", "user_roles", "users")


@of_samples(*(f"21-veza-oaa-{name}.csv" for name in OAA))
async def test_veza_application_in_six_files_is_read(sample: Samples) -> None:
    found = await sample.imported(*(f"21-veza-oaa-{name}.csv" for name in OAA))

    users = {"Michael Scott", "Jim Halpert", "Dwight Schrute", "Toby Flenderson", "Darryl Philbin"}
    roles = {row["name"] for row in rows_of("21-veza-oaa-roles.csv")}
    assert (found.active, found.inactive) == (users, set())
    assert found.groups == {"Scranton Branch", "Sales Team", *roles}
    in_groups = {(row["user"], row["group"]) for row in rows_of("21-veza-oaa-user_groups.csv")}
    in_roles = {(row["user"], row["role"]) for row in rows_of("21-veza-oaa-user_roles.csv")}
    assert found.memberships == in_groups | in_roles
    assert found.permissions == {
        ("Regional Manager", "", "Paper Inventory System", "admin", "Grant"),
        ("Regional Manager", "", "Sales CRM", "admin", "Grant"),
        ("Regional Manager", "", "HR System", "admin", "Grant"),
        ("Sales Representative", "", "Sales CRM", "read", "Grant"),
        ("Sales Representative", "", "Sales CRM", "write", "Grant"),
        ("Sales Representative", "", "Paper Inventory System", "read", "Grant"),
        ("HR Representative", "", "HR System", "admin", "Grant"),
        ("Warehouse Worker", "", "Paper Inventory System", "write", "Grant"),
    }
    assert found.columns["Jim Halpert"]["email"] == "jim.halpert@dundermifflin.com"


@pytest.mark.parametrize(
    ("name", "users", "groups", "memberships", "permissions"),
    [
        ("groups", 5, 2, 7, 0),
        ("role_permissions", 0, 4, 0, 8),
        ("roles", 0, 4, 0, 0),
        ("user_groups", 5, 2, 7, 0),
        ("user_roles", 5, 4, 5, 0),
        ("users", 5, 0, 0, 0),
    ],
)
async def test_each_veza_file_alone_is_read(
    sample: Samples, samples: None, name: str, users: int, groups: int, memberships: int, permissions: int
) -> None:
    found = await sample.imported(f"21-veza-oaa-{name}.csv")

    counts = [len(each) for each in (found.active, found.inactive, found.groups, found.memberships, found.permissions)]
    assert counts == [users, 0, groups, memberships, permissions]


@of_samples("22-veza-entitlements.csv")
async def test_principals_with_a_prefix_are_read(sample: Samples) -> None:
    found = await sample.imported("22-veza-entitlements.csv")

    rows = rows_of("22-veza-entitlements.csv")
    assert (found.active, found.inactive) == ({"michael", "jim", "dwight", "pam"}, set())
    assert found.permissions == {
        (row["principal_id"].removeprefix("user:"), "", row["resource_id"], row["permission_id"], "Grant")
        for row in rows
    }
    assert len(found.permissions) == 17


@of_samples("22-veza-identity_to_permissions.csv")
async def test_users_and_groups_in_one_column_are_read(sample: Samples) -> None:
    found = await sample.imported("22-veza-identity_to_permissions.csv")

    rows = rows_of("22-veza-identity_to_permissions.csv")
    assert found.active == {"michael", "jim", "dwight", "pam"}
    assert found.groups == {"managers", "sales"}
    assert found.permissions == {
        (row["identity"], "", row["resource_name"], row["permission"], "Grant") for row in rows
    }


@of_samples("22-veza-idp_users.csv")
async def test_identity_provider_with_its_entitlements_is_read(sample: Samples) -> None:
    found = await sample.imported("22-veza-idp_users.csv", "22-veza-entitlements.csv")

    assert (found.active, found.inactive) == ({"michael", "jim", "dwight", "pam"}, set())
    assert found.memberships == {("michael", "managers"), ("jim", "sales"), ("dwight", "sales")}
    assert found.columns["pam"]["email"] == "zwilson+pam@veza.com"
    assert found.columns["pam"]["name"] == "Pam Beesly"
    assert len(found.permissions) == 17


@of_samples("22-veza-permissions.csv")
async def test_permissions_with_the_rights_they_contain_are_read(sample: Samples) -> None:
    found = await sample.imported("22-veza-permissions.csv")

    rights = {
        (row["name"], "", "", right, "Grant")
        for row in rows_of("22-veza-permissions.csv")
        for right in row["permissions"].split(";")
    }
    assert found.permissions == rights
    assert len(rights) == 11


async def test_files_that_do_not_fit_together_are_refused(client: httpx2.AsyncClient, samples: None) -> None:
    """Two lists of permissions in different columns cannot be read together, so the second one is refused."""
    names = ("22-veza-entitlements.csv", "22-veza-identity_to_permissions.csv")

    proposal = await propose(client, contents(*names))

    assert [file["problem"] for file in proposal["files"]] == [
        None,
        "22-veza-entitlements.csv already has permissions, in other columns; save both files with the columns Username "
        "and Permission, a row for each pair, or import this file as a separate application",
    ]


@of_samples("24-bakalr-permissions-matrix.csv")
async def test_matrix_of_roles_is_read(sample: Samples) -> None:
    found = await sample.imported("24-bakalr-permissions-matrix.csv")

    rows = rows_of("24-bakalr-permissions-matrix.csv")
    roles = list(rows[0])[2:]
    assert found.groups == set(roles)
    assert found.permissions == {
        (role, row["Category"], "", row["Permission"], "Grant") for row in rows for role in roles if row[role] == "Y"
    }
    assert len(found.permissions) == 331
    assert found.active == set()


@of_samples("29-okta-users.json", "31-salesforce-users.json")
@pytest.mark.parametrize(
    ("name", "active", "inactive"), [("29-okta-users.json", 136, 6), ("31-salesforce-users.json", 137, 7)]
)
async def test_json_array_of_users_with_roles_is_read(sample: Samples, name: str, active: int, inactive: int) -> None:
    found = await sample.imported(name)

    records = json.loads((FOLDER / name).read_text())
    assert found.active == {each["user_id"] for each in records if each["status"] == "active"}
    assert found.inactive == {each["user_id"] for each in records if each["status"] != "active"}
    assert (len(found.active), len(found.inactive)) == (active, inactive)
    assert found.memberships == {(each["user_id"], each["role"]) for each in records}
    one = records[0]
    stored = found.columns[one["user_id"]]
    assert (stored["email"], stored["login"]) == (one["email"], f"{one['last_login']}Z")


@of_samples("36-google-workspace-download.csv")
async def test_google_workspace_download_is_read(sample: Samples) -> None:
    found = await sample.imported("36-google-workspace-download.csv")

    names = {f"{name}@gigantic-retail.com" for name in ("automation", "mike", "nico", "prasad", "xi")}
    assert (found.active, found.inactive) == (names, set())
    mike = found.columns["mike@gigantic-retail.com"]
    assert (mike["name"], mike["login"]) == ("Mike Jones", "2024-01-31T07:55:13Z")
    assert found.memberships == set()


@of_samples("41-scim-listresponse-concur.json")
async def test_scim_list_response_is_read(sample: Samples) -> None:
    found = await sample.imported("41-scim-listresponse-concur.json")

    assert (found.active, found.inactive) == ({"test.user23@sbs.com.au"}, set())
    user = found.columns["test.user23@sbs.com.au"]
    assert (user["email"], user["employee"], user["last"]) == ("test.user23@sbs.com.au", "testuser23", "user23")
