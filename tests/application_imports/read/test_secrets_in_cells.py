import json

import polars as pl

from rolecall.application_imports.read.secret_headers import without_nested_secrets
from rolecall.core.secret_names import mask_json

CELLS = [
    *(json.dumps([{"id": n, "name": f"key {n}", "on": True}]) for n in range(50)),
    *(f'{{"id":{n},"password":"hush{n}"}}' for n in range(3)),
    '[{"name":"Password","value":"hush"}]',
    '{"api":{"key":"hush"}}',
    '{"spare4":"hush","n":-1.5e3}',
    '{"a":1,",password":"hush"}',
    r'{"a":"\"}","pins":["hush","hush"]}',
    '[{"field":"Password","val":"hush"}]',
    r'{"a":"{\"b\":{\"password\":\"hush\"}}"}',
    r'"{\"password\":\"hush\"}"',
    '{"password":"hush","password":null}',
    'cut off {"password":"hush',
    "plain: text",
    "",
]


def test_cells_of_a_column_are_hidden_like_single_texts() -> None:
    frame = pl.DataFrame({"0": CELLS * 2, "1": CELLS * 2})

    found = without_nested_secrets(frame, {"Keys": 0}, None)

    assert found.get_column("0").to_list() == [*map(mask_json, CELLS * 2)]
    assert "hush" not in str(found.get_column("0").to_list())
    assert found.get_column("1").to_list() == CELLS * 2
