"""Test questions about columns of roles that may name the jobs of people."""

from pathlib import Path

import pytest

from rolecall.file_shapes.draft_answers import answer
from tests.application_imports.reading import read_files
from tests.file_shapes.test_exports import imported, proposed
from tests.file_shapes.test_references import questions

JOBS = "The rows look like people of an HR system. Does role, such as Accountant, Engineer, name their jobs?"


@pytest.mark.parametrize(
    "text",
    [
        "name,email,department,role,start_date\nAda Byron,a@x.com,Fin,Accountant,2020-01-02\n"
        "Bob Kahn,b@x.com,Fin,Accountant,2021-01-02\nCy Dee,c@x.com,IT,Engineer,2022-01-02\n",
        "EmployeeID,LoginName,FullName,Department,role\n1,ada,Ada Byron,Fin,Accountant\n2,bob,Bob Kahn,Fin,Accountant\n"
        "3,cy,Cy Dee,IT,Engineer\n",
        "login,name,manager,location,role\nada,Ada Byron,nia,Rome,Accountant\nbob,Bob Kahn,nia,Bonn,Accountant\n"
        "cy,Cy Dee,nia,Oslo,Engineer\n",
    ],
)
def test_roles_of_people_with_fields_of_employees_are_asked_about(tmp_path: Path, text: str) -> None:
    proposal = proposed(tmp_path, export=text)
    users, memberships = proposal.files[0].contents
    (question,) = memberships.questions

    assert (users.content, users.questions, question.text) == ("users", [], JOBS)
    (group,) = proposal.connector["files"]
    choice = next(each for each in question.choices if each.label == "Yes, their jobs: do not read them as groups")
    answer(group["shape"]["contents"][0], choice)
    found = read_files(tmp_path, [group], {group["name"]: text})
    assert (len(found.active), found.memberships) == (3, set())


@pytest.mark.parametrize(
    "text",
    [
        "login,name,department,role\nada,Ada Byron,Fin,approver\nbob,Bob Kahn,Fin,viewer\ncy,Cy Dee,IT,viewer\n",
        "login,name,department,role,hire_date,last_login\nada,Ada Byron,Fin,Engineer,2020-01-02,2026-01-02\n"
        "bob,Bob Kahn,Fin,Analyst,2020-01-02,2026-01-02\ncy,Cy Dee,IT,Analyst,2020-01-02,\n",
    ],
)
def test_roles_of_accounts_are_not_asked_about(tmp_path: Path, text: str) -> None:
    assert questions(tmp_path, export=text) == []
    assert imported(tmp_path, export=text).memberships
