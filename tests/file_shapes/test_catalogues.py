"""Test questions about lists that name permissions but no holders."""

import json
from pathlib import Path

import pytest

from tests.file_shapes.test_exports import contents, imported, proposed
from tests.file_shapes.test_states import asked

ENTITLEMENTS = "Entitlement,Description,Application\nPAY,Pay invoices,ERP\nPOST,Post journals,ERP\nVIEW,Look,CRM\n"
WHAT = "The rows list permissions, such as {0}, and no column names who has them. What are they?"
ALONE = " If accounts are granted these permissions, import the file that says so instead."


@pytest.mark.parametrize(
    ("text", "named", "groups"),
    [
        (ENTITLEMENTS, "PAY, POST, VIEW", {"PAY", "POST", "VIEW"}),
        ("Permission\nusers.read\nusers.write\n", "users.read, users.write", {"users.read", "users.write"}),
        ("TCODE,TTEXT\nFB60,Enter Invoices\nSU01,Users\n", "FB60, SU01", {"FB60", "SU01"}),
        ("permission_id,permission_name\n1,read\n2,write\n", "read, write", {"read", "write"}),
        (
            "Module,Screen,Permission\nBilling,Invoices,View\nBilling,Invoices,Edit\nAdmin,Users,View\n",
            "View, Edit",
            {"Billing / Invoices / View", "Billing / Invoices / Edit", "Admin / Users / View"},
        ),
        (
            json.dumps({"privileges": [{"id": 1, "code": "PRESCRIBE"}, {"id": 2, "code": "READ"}]}),
            "PRESCRIBE, READ",
            {"PRESCRIBE", "READ"},
        ),
    ],
)
def test_list_of_permissions_without_holders_is_asked_about(
    tmp_path: Path, text: str, named: str, groups: set[str]
) -> None:
    (question,) = proposed(tmp_path, export=text).files[0].contents[0].questions

    assert question.text == WHAT.format(named) + ALONE
    assert [each.label for each in question.choices] == ["A catalogue of entitlements: import them as groups"]
    assert imported(tmp_path, export=text).groups == groups


def test_list_of_permissions_beside_their_grants_is_better_left_out(tmp_path: Path) -> None:
    grants = "User,Entitlement\nada,PAY\nada,VIEW\nbob,POST\n"
    listing, other = proposed(tmp_path, list=ENTITLEMENTS, grants=grants).files
    (question,) = listing.contents[0].questions

    assert question.text == f"{WHAT.format('PAY, POST, VIEW')} grants says who has them and needs no such list."
    assert [each.label for each in question.choices] == [
        "Leave the file out",
        "A catalogue of entitlements: import them as groups",
    ]
    assert other.contents[0].questions == []
    assert imported(tmp_path, list=ENTITLEMENTS, grants=grants).active == {"ada", "bob"}


def test_list_of_permissions_and_their_groups_needs_no_question(tmp_path: Path) -> None:
    assert contents(tmp_path, export="Permission,Role\nPAY,Clerk\nVIEW,Clerk\nPAY,Boss\n") == ["permissions"]
    assert asked(tmp_path, export="Permission,Role\nPAY,Clerk\nVIEW,Clerk\nPAY,Boss\n") == []
