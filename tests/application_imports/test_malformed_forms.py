import random

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from tests.builders import an_application

PATH = "/api/application-imports/upload"
ODDITIES = [b"\r\n", b"\n", b"\r", b"--x", b"--x--", b"\x00", b"\xff", b'"', b";", b"filename=", b"name=", b":", b"=?"]


def mangled(form: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.randint(1, 6)):
        at, length = dice.randrange(len(form) + 1), dice.choice([0, 0, 1, 3, 20])
        form = form[:at] + dice.choice(ODDITIES) * dice.randint(0, 2) + form[at + length :]
    return form


@pytest.mark.parametrize("seed", range(4))
async def test_malformed_form_is_accepted_or_refused_without_a_server_error(
    client: httpx2.AsyncClient, db: Db, config: Config, seed: int
) -> None:
    dice = random.Random(seed)
    application_id = await an_application(db)
    group = await fetch_value(db, "SELECT id FROM file_groups WHERE name = 'Users'")
    form = (
        f'--x\r\nContent-Disposition: form-data; name="applicationId"\r\n\r\n{application_id}\r\n'
        f'--x\r\nContent-Disposition: form-data; name="{group}"; filename="users.csv"\r\n'
        "Content-Type: text/csv\r\n\r\nUsername\r\nada\r\n\r\n--x--\r\n"
    ).encode()

    answers = [
        await client.post(
            PATH, content=mangled(form, dice), headers={"Content-Type": "multipart/form-data; boundary=x"}
        )
        for _ in range(50)
    ]

    assert {answer.status_code for answer in answers} <= {201, 400, 413}
    assert len({answer.status_code for answer in answers}) > 1
    kept = [path for path in config.store.folder.rglob("*") if path.is_file()]
    assert len(kept) == await fetch_value(db, "SELECT count(*) FROM import_files")
