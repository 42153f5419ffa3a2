"""Import realistic exports whose proposals leave questions open, with the answers that a careful person gives."""

import re
from pathlib import Path
from typing import Any

from rolecall.applications.model import Content
from rolecall.file_shapes.draft_answers import answer
from rolecall.file_shapes.files.capitals import USERNAMES, lower_usernames
from rolecall.file_shapes.shapes import ProposalDetail
from tests.application_imports.reading import Outcome, read_files
from tests.file_shapes.test_export_files import FOLDER, outcome
from tests.file_shapes.test_exports import proposed


def answered(folder: Path, names: list[str], *labels: str, allow_rejects: bool = False) -> Outcome:
    """Read exports as proposed. Answer each question with its first choice that has one of these labels."""
    files = {re.sub(r"\W", "_", name): (FOLDER / name).read_bytes() for name in names}
    proposal = proposed(folder, **files)
    groups = proposal.connector["files"]
    for at in range(len(proposal.files)):
        _answer(proposal, at, groups, labels)
    given: dict[str, Any] = {}
    for file in proposal.files:
        given.setdefault(str(file.file_group), []).append(files[file.name])
    for group in groups:
        group["allowRejects"] = allow_rejects
    return read_files(folder, groups, given)


def _answer(proposal: ProposalDetail, at: int, groups: list[Any], labels: tuple[str, ...]) -> None:
    file = proposal.files[at]
    group = next(group for group in groups if group["name"] == file.file_group)
    sections = [group, *group["shape"].get("contents", [])] if group["shape"] else [group]
    for section, part in zip(sections, file.contents, strict=True):
        for question in part.questions:
            chosen = next(choice for choice in question.choices if choice.label in labels)
            if chosen.key == USERNAMES:
                for each in sections:
                    lower_usernames(each)
            else:
                answer(section, chosen)
        (section["shape"] or {}).pop("openQuestions", None)


def test_expired_membership_of_a_group_is_left_out_and_its_account_stays_active(tmp_path: Path) -> None:
    labels = ("Yes, state alone counts", "No, leave them out", "No, leave out rows with awaiting")

    found = answered(tmp_path, ["gitlab-members-of-two-pages.json"], *labels)

    assert found.inactive == {"bwong", "ideact"}
    assert {row[0] for row in found.permissions} == {"jdoe", "asilva", "bwong", "eaudit", "gmin", "ideact"}


def test_grants_with_a_past_condition_are_left_out(tmp_path: Path) -> None:
    labels = ("No, leave them out", "Yes, convert usernames to lowercase")

    found = answered(tmp_path, ["google-cloud-policy-with-conditions.json"], *labels)

    rows = found.rows("permissions", "username", "permission", "value")
    assert [row for row in rows if row[0].startswith("pavel")] == [
        ("pavel@contractor.example", "roles/bigquery.dataViewer", "until 2031")
    ]
    assert "Lena@acme.example" not in found.active


def test_condition_of_a_role_assignment_is_kept(tmp_path: Path) -> None:
    found = answered(tmp_path, ["azure-role-assignments-with-conditions.json"], "Yes, convert usernames to lowercase")

    (limited,) = [row for row in found.rows("permissions", "username", "value") if row[1]]
    assert limited[0] == "dora.klein@contoso.example"
    assert "StringEquals 'invoices'" in limited[1]


def test_groups_in_a_list_of_mailbox_rights_are_groups(tmp_path: Path) -> None:
    labels = ("Yes, convert usernames to lowercase", "Yes, read them as groups")

    found = answered(tmp_path, ["exchange-mailbox-permissions-with-denials.csv"], *labels, allow_rejects=True)

    groups = {"CONTOSO\\Domain Admins", "CONTOSO\\Organization Management"}
    rows = found.rows("permissions", "username", "group", "section", "permission", "access")
    assert {row[1] for row in rows} == {"", *groups}
    assert {row[4] for row in rows if row[1] == "CONTOSO\\Domain Admins"} == {"Deny"}
    assert not any("self" in username for username in found.active)
    # A right that is both granted and denied is rejected: a person must decide.
    assert [reject.line for reject in found.deltas[Content.PERMISSIONS].rejects] == [6]


def test_matrix_with_states_of_accounts_is_read(tmp_path: Path) -> None:
    labels = (
        "X (lecture) grants access",
        "It grants nothing",
        "No",
        "O means not active",
        "No, each is a separate account",
    )

    found = outcome(answered(tmp_path, ["matrice-des-habilitations.csv"], *labels))

    assert found["inactive"] == ["bernardc", "durandf", "martinp"]
    assert ["petitl", "user", "Paie", "Deny"] in found["permissions"]
    assert ["lecoeurm", "user", "Paie", "Grant"] in found["permissions"]
    assert ["nguyent", "user", "Administration", "None"] in found["permissions"]
    assert len(found["permissions"]) == 17


def test_profiles_of_an_application_are_split(tmp_path: Path) -> None:
    labels = (
        "Baja temporal (IT) means not active", "Excedencia means active", "No, each is a separate account",
        "Yes, separated by a slash",
    )  # fmt: skip

    found = answered(tmp_path, ["usuarios-con-perfiles.txt"], *labels)

    assert found.inactive == {"JPEREZ", "ALOPEZ"}
    assert {group for _, group in found.memberships} == {
        "ADMINISTRADOR", "ALMACEN", "COMPRAS", "CONSULTA", "INTERFAZ", "NOMINAS", "TESORERIA",
    }  # fmt: skip
    assert {row[0] for row in found.rows("users", "username", "is_locked") if row[1]} == {"RSOTO", "PRUEBAS1"}


def test_members_of_roles_rights_and_principals_of_a_database_are_read_together(tmp_path: Path) -> None:
    names = ["sql-server-permissions.txt", "sql-server-principals.txt", "sql-server-role-members.txt"]

    found = answered(tmp_path, names)

    assert (found.active, found.inactive) == ({"CONTOSO\\ameyer", "erp_app", "jsøndergård"}, {"erp_report", "guest"})
    assert found.memberships == {
        ("CONTOSO\\ameyer", "db_owner"), ("erp_report", "erp_clerks"), ("jsøndergård", "erp_clerks"),
    }  # fmt: skip
    assert "0x0200" not in str(found.rows("users", "metadata"))


def test_roles_of_a_json_api_keep_their_ids(tmp_path: Path) -> None:
    found = answered(tmp_path, ["users-of-a-json-api.json"], "Pending means active", "Yes, by id")

    assert found.inactive == {"boris.ivanov@acme.example"}
    assert ("dina.haddad@acme.example", "ffffffff-dead-11ee-8000-da7ad0900005") in found.memberships


def test_people_of_a_list_with_end_dates_are_read(tmp_path: Path) -> None:
    words = ("Elternzeit", "gekündigt", "ruhend", "Altersteilzeit (passiv)", "Auszubildende", "aktiv (extern)")

    found = outcome(
        answered(tmp_path, ["personalliste-mit-kennungen.csv"], "No", *(f"{word} means active" for word in words))
    )

    disabled = [person[0] for person in found["people"] if person[3] == "Disabled"]
    assert (len(found["people"]), disabled) == (11, ["00102", "00105", "00106"])
