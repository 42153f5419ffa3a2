"""Test the questions of the wizard: the offered answers, what each changes, and that open questions hold the import."""

import html
import re

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from tests.application_imports.running import Imports
from tests.console.test_drafts import fields, uploaded


async def test_open_question_blocks_the_import(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    question = "status is blank in 1 row. Does a blank cell mean active?"
    draft = await uploaded(administrator, text="login,status\nada,Active\nbob,Inactive\ncy,\ndee,Active\n")
    page = (await administrator.get(draft)).text
    await administrator.post(draft, data={**fields(page), "dry-run": "yes"})
    await Imports(client, config).work_on_dry_runs()
    page = (await administrator.get(draft)).text
    assert question in page
    assert "Save and import" not in page
    await administrator.post(f"{draft}/save")
    assert await fetch_value(db, "SELECT count(*) FROM applications WHERE name = 'CoreBank'") == 0

    await administrator.post(draft, data={"answer": f"0|0|keep|{question}", "dry-run": "yes"})
    await Imports(client, config).work_on_dry_runs()

    assert "Save and import" in (await administrator.get(draft)).text


async def test_answer_that_changes_nothing_answers_one_question(administrator: httpx2.AsyncClient) -> None:
    names, inside = "several names in Name", "JSON objects with groups"
    text = (
        'User ID,Name,Role,profile\njsmith,John Smith,Clerk,"{""groups"": [""Staff""]}"\n'
        'jsmith,Jane Smith,Boss,"{""groups"": [""Lab""]}"\nada,Ada Byron,Clerk,\nada,Ada Byron,Boss,\n'
    )
    draft = await uploaded(administrator, text=text)
    page = (await administrator.get(draft)).text
    assert names in page
    assert inside in page
    answers = re.findall(r'name="answer" value="([^"]*)"', page)
    (about_names,) = [html.unescape(each) for each in answers if names in each]

    await administrator.post(draft, data={**fields(page), "answer": about_names})

    page = (await administrator.get(draft)).text
    assert names not in page
    assert inside in page


async def test_answer_chooses_between_status_columns_that_disagree(administrator: httpx2.AsyncClient, db: Db) -> None:
    """If no column is chosen, both are read."""
    text = "login,active,suspended\nada,true,false\nbob,true,true\ncy,false,false\n"
    active = "SELECT draft #> '{connector,files,0,shape,join}' ->> 'Active' FROM dry_runs"
    both = "keep|active and suspended disagree about 1 row. Which column says who is active?"
    for answer, pattern in ((both, "{active|else(-)} {suspended|else(-)}"), ("Active|active", None)):
        draft = await uploaded(administrator, text=text)
        page = (await administrator.get(draft)).text

        await administrator.post(draft, data={**fields(page), "answer": f"0|0|{answer}"})

        shown = (await administrator.get(draft)).text
        assert "Which column says who is active?" not in shown
        assert await fetch_value(db, active) == pattern
        await administrator.post(f"{draft}/discard")


async def test_status_column_in_another_language_marks_inactive_accounts(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    draft = await uploaded(administrator, text="Kennung;Name;Außer Dienst\nada;Ada Byron;nein\nbob;Bob Kahn;ja\n")
    page = (await administrator.get(draft)).text
    assert "Does the column Außer Dienst say who is active? No other column does." in page

    await administrator.post(draft, data={**fields(page), "answer": "0|0|invert.Active|Außer Dienst"})

    page = (await administrator.get(draft)).text
    assert fields(page)["field.0.0.Außer Dienst"] == "Active"
    file = await fetch_value(db, "SELECT draft #> '{connector,files,0}' FROM dry_runs")
    assert file["columns"]["Außer Dienst"] == "Active"
    assert file["shape"] == {"delimiter": ";", "invert": ["Active"]}


@pytest.mark.parametrize(("holders", "derives"), [("Username", True), ("Group", None)])
async def test_answer_decides_whether_headers_of_a_matrix_are_users_or_groups(
    administrator: httpx2.AsyncClient, db: Db, holders: str, derives: bool | None
) -> None:
    text = "Privilege,kowalr1,meyerm2,moreau3\nCash,Y,Y,N\nWires,N,N,Y\n"
    draft = await uploaded(administrator, text=text)
    page = (await administrator.get(draft)).text
    assert "Are kowalr1, meyerm2, moreau3 users, or groups and roles?" in page

    await administrator.post(draft, data={**fields(page), "answer": f"0|0|unpivot.headers|{holders}"})

    shape = await fetch_value(db, "SELECT draft #> '{connector,files,0,shape}' FROM dry_runs")
    assert (shape["unpivot"]["headers"], shape.get("deriveUsers")) == (holders, derives)
    assert "openQuestions" not in shape


async def test_one_of_several_columns_of_groups_is_chosen(administrator: httpx2.AsyncClient, db: Db) -> None:
    text = "login,name,groups,teams\nada,Ada Byron,a;b,x|y\nbob,Bob Kahn,a,y\n"
    draft = await uploaded(administrator, text=text)
    page = (await administrator.get(draft)).text
    assert "Columns with several values per cell: teams, groups." in page
    of_groups = "SELECT draft #> '{connector,files,0,shape,contents,0}' FROM dry_runs"

    await administrator.post(draft, data=fields(page))
    kept = await fetch_value(db, of_groups)
    await administrator.post(draft, data={**fields(page), "field.0.1.teams": "Group"})
    chosen = await fetch_value(db, of_groups)

    assert kept["shape"]["unpivot"]["columns"] == ["groups", "teams"]
    assert kept["shape"]["split"] == {"groups": ";", "teams": "|"}
    assert "unpivot" not in chosen["shape"]
    assert (chosen["columns"]["teams"], chosen["shape"]["split"]) == ("Group", {"teams": "|"})


async def test_unknown_word_must_be_answered(administrator: httpx2.AsyncClient) -> None:
    """The proposal does not say what the word means. Without an answer, rows with this word could not be read."""
    draft = await uploaded(administrator)
    question = "Sts: what does Qx mean?"

    refused = await administrator.post(draft, data={"answer": f"0|0|keep|{question}"})

    page = (await administrator.get(draft)).text
    assert refused.status_code == 400
    assert question in page
    assert "Keep the proposal" not in page


async def test_answer_about_the_rows_of_a_matrix_makes_a_new_proposal(administrator: httpx2.AsyncClient) -> None:
    draft = await uploaded(administrator, text="code,SAP,CRM,VPN\nada,x,x,\nbob,x,,\ncyd,,,x\n")
    await administrator.post(draft, data={"answer": "0|0|headerLine|1"})
    assert "does not say what the rows of this matrix are" in (await administrator.get(draft)).text

    await administrator.post(draft, data={"answer": "0|0|rows|Group"})

    page = (await administrator.get(draft)).text
    assert fields(page)["field.0.0.code"] == "Group"
    assert "does not say what the rows of this matrix are" not in page
    assert "Is this line the header?" not in page


async def test_rows_with_a_plain_name_can_be_read_as_accounts(administrator: httpx2.AsyncClient) -> None:
    draft = await uploaded(administrator, text="name,floor\nada,1\nbob,2\n")
    assert "No header names accounts, groups or permissions" in (await administrator.get(draft)).text

    await administrator.post(draft, data={"answer": "0|0|content|users"})

    page = (await administrator.get(draft)).text
    assert "Users <span" in page
    assert "No header names accounts, groups or permissions" not in page


async def upload_several(administrator: httpx2.AsyncClient, files: dict[str, str]) -> str:
    sent = [("files", (name, text.encode())) for name, text in files.items()]
    answer = await administrator.post("/drafts/new", files=sent, data={"name": "CoreBank"})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def test_list_without_holders_is_left_out_of_the_draft(administrator: httpx2.AsyncClient, db: Db) -> None:
    files = {
        "grants.csv": "User,Entitlement\nada,PAY\nbob,VIEW\nada,VIEW\n",
        "list.csv": "Entitlement,Text\nPAY,Pay\nVIEW,Look\n",
    }
    draft = await upload_several(administrator, files)
    page = (await administrator.get(draft)).text
    assert "grants.csv says who has them and needs no such list" in page

    await administrator.post(draft, data={**fields(page), "answer": "1|0|leaveOut|"})

    assert "needs no such list" not in (await administrator.get(draft)).text
    assert await fetch_value(db, "SELECT array_agg(name) FROM dry_run_files") == ["grants.csv"]
    groups = "SELECT jsonb_path_query_array(draft, '$.connector.files[*].content') FROM dry_runs"
    assert await fetch_value(db, groups) == ["permissions"]


async def test_answer_keeps_questions_about_other_files_of_the_group(administrator: httpx2.AsyncClient, db: Db) -> None:
    """Two files of users share a group; the unknown words of both are asked about."""
    header = "login,name,status\nada{0},Ada Byron,Active\nbob{0},Bob Kahn,Inactive\ncy{0},Cy Dee,{1}\n"
    files = {f"{word}.csv": header.format(n, word) for n, word in enumerate(("Qx", "Qy"))}
    draft = await upload_several(administrator, files)
    open = "SELECT draft #> '{connector,files,0,shape,openQuestions}' FROM dry_runs"
    assert await fetch_value(db, open) == ["status: what does Qx mean?", "status: what does Qy mean?"]

    await administrator.post(draft, data={"answer": "0|0|values.Active.Qx|No"})
    left = await fetch_value(db, open)
    await administrator.post(draft, data={"answer": "1|0|values.Active.Qy|No"})

    assert left == ["status: what does Qy mean?"]
    assert await fetch_value(db, open) is None
