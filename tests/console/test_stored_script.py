"""Store a script in every text column, open every screen, and check that the script appears only as text."""

import re

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from tests.console.company import a_company
from tests.console.test_roles import SCREENS
from tests.console.test_screens import address

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'>{{7*7}}\u202e"
# Matches HTML that is not visible text: attributes, editable fields and text for screen readers.
NOT_SEEN = re.compile(r'="[^"]*"|<textarea.*?</textarea>|<span class="unseen">.*?</span>|<title>.*?</title>', re.DOTALL)
# Columns without user input (enum values, URLs, hashes, keys), and the e-mail address, whose change ends the session.
CODES = re.compile(
    r"(^audit_.*|stages\.name|identities\.email_address|file_groups\.content"
    r"|review_items\.(subject|decision|recommendation)|reviews\.(explained|on_silence)"
    r"|[._](status|type|action|role|outcome|event|events|kind|cron|location|channel|part|zone|rhythm|bundle|step"
    r"|access|response|match|priority|encoding|operator|field|condition|scopes|public_id|url|sort_key|list|filter|rule"
    r"|reason|risk_rating|held|key|stage|format|period|digest))$"
)


# Columns that must contain valid JSON.
JSON = {"metadata": "json_build_object('Note', %(script)s::text)::text"}


async def columns(db: Db) -> list[tuple[str, str]]:
    rows = await fetch_rows(
        db,
        """SELECT table_name::text, column_name::text FROM information_schema.columns
           JOIN information_schema.tables USING (table_schema, table_name)
           WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND data_type = 'text'
             AND is_generated = 'NEVER' AND table_name NOT IN ('migrations', 'schema_files', 'lists') ORDER BY 1, 2""",
    )
    return [(table, column) for table, column in rows if not CODES.search(f"{table}.{column}")]


async def test_no_screen_executes_stored_scripts(administrator: httpx2.AsyncClient, db: Db, config: Config) -> None:
    company = await a_company(db, config)
    written = []
    for table, column in await columns(db):
        scripted = JSON.get(column, f'"{column}" || %(script)s')
        if await execute(db, f'UPDATE "{table}" SET "{column}" = {scripted}', script=SCRIPT):
            written.append(f"{table}.{column}")

    shown, obeyed = "", []
    for method, path in sorted(SCREENS):
        if method == "GET" and not path.endswith("/log"):
            page = await administrator.get(address(path, company) if "sign-in" not in path else "/sign-in")
            assert page.status_code == 200, (path, page.text)
            if not page.headers["content-type"].startswith("text/html"):
                assert page.headers["content-disposition"].startswith("attachment")
                continue
            shown += page.text
            found = re.search(r"<script>alert|<img src=x|49\u202e", page.text)
            hidden = re.search(".{80}\u202e", NOT_SEEN.sub("", page.text))
            obeyed += [(path, each[0]) for each in (found, hidden) if each]

    assert obeyed == []
    assert len(written) > 20, written
    assert shown.count("&lt;script&gt;alert(1)") > 50
