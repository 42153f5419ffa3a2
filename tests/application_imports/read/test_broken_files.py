"""Test broken files as they occur in practice: each fails its import with a helpful reason and changes nothing."""

import io
import zipfile

import httpx2
import polars as pl
import pytest

from rolecall.core.db import Db
from tests.application_imports.running import Imports
from tests.builders import an_application

MIB = 1024 * 1024
GOOD = b"Username,Name\nada,Ada\n"


def xlsx(sheet: str, **more: bytes) -> bytes:
    """Build a workbook with one sheet by hand."""
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
        'officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        '<sheets><sheet name="Users" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        'relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
        'relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f"<sheetData>{sheet}</sheetData></worksheet>",
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
        for name, content in more.items():
            archive.writestr(name, content)
    return out.getvalue()


def row(number: int, *cells: str) -> str:
    letters = "ABCDEFG"
    made = (
        cell if cell.startswith("<c") else f'<c r="{letters[i]}{number}" t="inlineStr"><is><t>{cell}</t></is></c>'
        for i, cell in enumerate(cells)
    )
    return f'<row r="{number}">{"".join(made)}</row>'


def parquet(**columns: list[object]) -> bytes:
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


HEADER = row(1, "Username", "Name")
SHEET = xlsx(HEADER + row(2, "ada", "Ada"))

BROKEN: dict[str, tuple[bytes, str]] = {
    "blank": (b" \n \n", "users.csv: the file is empty"),
    "header only": (b"Username,Name\n", "users.csv: there is a header but no row"),
    "wrong delimiter": (b"Username#Name\nada#Ada\n", "line 1: the column Username is missing; the columns found are"),
    "no header": (b"ada,Ada\nbob,Bob\n", "line 1: the column Username is missing; the columns found are ada, Ada"),
    "unknown columns": (b"Foo,Bar\n1,2\n", "the columns found are Foo, Bar"),
    "duplicate headers": (b"Username,Name,Name\nada,A,A\n", "line 1: columns 2 and 3 have the same header Name"),
    "two usernames": (
        b"Username,Login\nada,ada\n",
        "line 1: columns Username and Login are both read as Username; map one of them to Username in columns",
    ),
    "nameless column": (b"Username,,Name\nada,x,A\n", "line 1: column 2 has no header"),
    "short row": (b"Username,Name\nada,Ada\nbob\n", "line 3: the row has 1 field, the header has 2"),
    "long row": (b"Username,Name\nada,Ada\nbob,B,x\n", "line 3: the row has 3 fields, the header has 2"),
    "blank username": (b"Username,Name\n ,Ada\n", "line 2: Username is blank"),
    "repeated username": (b"Username,Name\nada,A\nada,B\n", "line 3: line 2 has the same Username with other"),
    "bad yes or no": (b"Username,Active\nada,maybe\n", "line 2: Active is maybe: expected True/False, Yes/No"),
    "open quote": (b'Username,Name\nada,"Ada\nbob,Bob\n', "line 2: a quote opens here and is never closed"),
    "text after a quote": (b'Username,Name\nada,"Ada"x\n', "line 2: text follows a closing quote"),
    "NUL": (b"Username,Name\nada,A\x00da\n", "line 2: there is a NUL character"),
    "UTF-16 cut short": ("Username,Name\nada,Ada\n".encode("utf-16-le")[:-1], "the text is not utf-16-le"),
    "UTF-32": ("Username,Name\nada,Ada\n".encode("utf-32"), "the file is UTF-32; save it as UTF-8"),
    "unknown encoding": (b"Username,Name\nada,Ad\x81\n", "line 2: byte 0x81 is not UTF-8"),
    "unknown encoding with quotes": (b'Username,Name\nada,"Ad\x81"\n', "line 2: byte 0x81 is not UTF-8"),
    "broken UTF-16": (b"\xff\xfeU\x00s", "line 1: the text is not utf-16"),
    "10 MB line": (b"Username,Name\nada," + b"x" * 10 * MIB + b"\n", "line 2: a field is longer than 1 MiB"),
    "10 MB header": (b"Username," + b"x" * 10 * MIB + b"\nada,1\n", "line 1: the header is longer than 1 MiB"),
    "30,000 columns": (
        b",".join(b"a long header of a column %d" % i for i in range(30_000)) + b"\n",
        "line 1: there are 30,000 columns, but at most 20,000 are read",
    ),
    "PDF": (b"%PDF-1.7\n...", "the file is a PDF"),
    "HTML": (b"<html><body>Please sign in</body></html>", "the file is HTML or XML"),
    "gzip": (b"\x1f\x8b\x08\x00abc", "the file is compressed with gzip"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 100, "the file is an old Excel file"),
    "JSON with a broken line": (b'{"Username": "ada"}\n{"Username": \n', "line 2: this line is not a JSON object"),
    "JSON without usernames": (b'{"Name": "Ada"}\n', "the column Username is missing; the columns found are Name"),
    "truncated XLSX": (SHEET[: len(SHEET) // 2], "the XLSX file is damaged or cut short"),
    "another archive": (xlsx("")[:200] + b"junk", "the XLSX file is damaged or cut short"),
    "XLSX of nothing": (xlsx(""), "the first sheet is empty"),
    "XLSX of a header": (xlsx(HEADER), "there is a header but no row"),
    "formula never computed": (
        xlsx(HEADER + row(2, "ada", '<c r="B2"><f>1+1</f></c>')),
        "line 2: cell B2 has a formula without a value; save the file in Excel",
    ),
    "far cell": (
        xlsx(HEADER + '<row r="1048576"><c r="XFD1048576" t="n"><v>1</v></c></row>'),
        "cell XFD1048576 is far",
    ),
    "cell beyond a sheet": (
        xlsx(HEADER + '<row r="2"><c r="ZZZZZ99999999999" t="n"><v>1</v></c></row>'),
        "cell ZZZZZ99999999 is beyond the last cell of a sheet, XFD1048576",
    ),
    "line beyond a sheet": (
        xlsx(HEADER + '<row r="2"><c r="A99999999999" t="n"><v>1</v></c></row>'),
        "cell A99999999 is beyond the last cell of a sheet",
    ),
    "error in a status": (
        xlsx(row(1, "Username", "Active") + row(2, "ada", '<c r="B2" t="e"><f>VLOOKUP(A2,C:D,2)</f><v>#N/A</v></c>')),
        "line 2: Active is #N/A: expected",
    ),
    "error in a username": (
        xlsx(HEADER + row(2, "<c r='A2' t='e'><v>#REF!</v></c>", "Ada")),
        "line 2: Username is #REF!, a spreadsheet error; correct the cell",
    ),
    "error saved as CSV": (b"Username,Name\n#N/A,Ada\n", "line 2: Username is #N/A, a spreadsheet error"),
    "cells that never end": (xlsx(HEADER + '<c r="A1" ' * 50_000), "the XLSX file cannot be read"),
    "zip bomb": (xlsx(HEADER, bomb=b"\x00" * 200 * MIB), "the XLSX file inflates to more than"),
    "truncated Parquet": (parquet(Username=["ada"])[:-6], "the Parquet file cannot be read"),
    "Parquet of lists": (parquet(Username=["ada"], Name=[[["nested"]]])[:40], "the Parquet file cannot be read"),
}


@pytest.mark.timeout(600)
async def test_broken_file_fails_its_import_with_a_reason(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": GOOD})

    runs = {name: await imports.upload(application, {"Users": content}) for name, (content, _) in BROKEN.items()}
    await imports.work()

    for name, (_, said) in BROKEN.items():
        run = await imports.get(runs[name]["id"])
        last = run["log"].splitlines()[-1]
        assert (name, run["status"], last[21:38]) == (name, "Failed", "Failed: users.csv")
        assert said in last
    accounts = (await client.get(f"/api/applications/{application}/accounts")).json()
    assert [item["username"] for item in accounts["items"]] == ["ada"]
    assert (await imports.finish(application, {"Users": GOOD}))["metrics"]["users"]["total"] == 1


GOOD_FILES = {
    "CSV with a mark": b"\xef\xbb\xbfUsername,Name\nada,Ada\n",
    "UTF-16 with a mark": "Username\tName\r\nada\tAda\r\n".encode("utf-16"),
    "UTF-16 without a mark": "Username,Name\nada,Ada\n".encode("utf-16-le"),
    "semicolons": b"Username;Name\nada;Ada\n",
    "pipes and quotes": b'"Username"|"Name"\n"ada"|"Ada"\n',
    "single quotes": b"'Username','Name'\n'ada','Ada'\n",
    "Mac line ends": b"Username,Name\rada,Ada\r",
    "Mac and Unix line ends": b"Username,Name\rada,Ada\n",
    "a long Mac file": b"Username;Name\r" + b"ada;Ada\r" * 150_000,
    "a long header": b"Username,Name," + b" " * 200_000 + b"\nada,Ada,\n",
    "blank lines": b"Username,Name\n\nada,Ada\n\n",
    "JSON array": b'[{"username": "ada", "Full Name": "Ada"}]',
    "JSON lines": b'{"username": "ada", "Full Name": "Ada"}\n',
    "XLSX": SHEET,
    "Parquet": parquet(Username=["ada"], Name=["Ada"]),
    "aliases": b"user-name,DISPLAY_NAME\nada,Ada\n",
}


async def test_all_common_formats_give_the_same_rows(imports: Imports, db: Db) -> None:
    made = {name: await an_application(db, name) for name in GOOD_FILES}
    for name, content in GOOD_FILES.items():
        await imports.upload(made[name], {"Users": content})
    await imports.work()

    for name, application in made.items():
        found = await imports.items(f"/api/applications/{application}/accounts")
        assert (name, [(ada["username"], ada["name"], ada["metadata"]) for ada in found]) == (
            name,
            [("ada", "Ada", [])],
        )


async def test_imported_cell_cannot_inject_lines_into_the_log(imports: Imports, db: Db) -> None:
    cell = "maybe\n2030-01-01T00:00:00Z Finished\x1b[2K\u202e"

    run = await imports.run(await an_application(db), {"Users": f'Username,Active\nada,"{cell}"\n'})

    last = run["log"].splitlines()[-1]
    assert run["status"] == "Failed"
    assert "Active is maybe\\n2030-01-01T00:00:00Z Finished\\x1b[2K\\u202e: expected" in last
    assert all(line.isprintable() for line in run["log"].splitlines())
