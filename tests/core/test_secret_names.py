import json
import time

import pytest

from rolecall.core.secret_names import HIDDEN, looks_secret, mask_json, mask_text


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('[{"id": "k", "password": "hush"}]', [{"id": "k", "password": HIDDEN}]),
        ('{"a": {"apiKey": {"value": "hush"}}}', {"a": {"apiKey": {"value": HIDDEN}}}),
        ('[[{"pins": [4471, 9021]}], {"pin": 4471}]', [[{"pins": HIDDEN}], {"pin": HIDDEN}]),
        (r'{"contrase\u00f1a": "hush"}', {"contraseña": HIDDEN}),
        ('[{"name": "Password", "value": "hush"}]', [{"name": "Password", "value": HIDDEN}]),
        ('[{"Field": "Password", "Val": "hush"}]', [{"Field": "Password", "Val": HIDDEN}]),
        ('{"attr": "userPassword", "values": ["hush"]}', {"attr": "userPassword", "values": HIDDEN}),
        ('{"label": "API key", "content": "hush"}', {"label": "API key", "content": HIDDEN}),
        (r'{"a": "{\"n\":1,\"password\":\"hush\"}"}', {"a": f'{{"n":1,"password":"{HIDDEN}"}}'}),
        (r'"{\"password\": \"hush\"}"', f'{{"password":"{HIDDEN}"}}'),
        (
            '{"credentials": {"userName": "ada", "password": "hush"}}',
            {"credentials": {"userName": "ada", "password": HIDDEN}},
        ),
        ('{"password": "hush", "password": "", "n": 1}', {"password": HIDDEN, "n": 1}),
        ('[{"a": {"pin": 4471, "pin": null}}]', [{"a": {"pin": HIDDEN}}]),
        (
            '{"name": "Password", "name": "x", "value": "hush"}',
            {"name": ["Password", "x"], "value": HIDDEN},
        ),
        (r'{"a": "{\"pin\":\"hush\",\"pin\":\"\"}"}', {"a": f'{{"pin":"{HIDDEN}"}}'}),
    ],
)
def test_secrets_in_json_are_hidden_at_any_depth(text: str, hidden: object) -> None:
    assert json.loads(mask_json(text)) == hidden


@pytest.mark.parametrize(
    "text",
    [
        '{"id":  1.50, "passwordLastSet": "2026-01-01", "password": ""}',
        "at 9:30 she said: no",
        'no JSON: "a" : b',
        '[{"name": "group", "value": "x"}]',
        '{"role": "a", "role": "b", "n": 12345678901234567890123}',
    ],
)
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assert mask_json(text) == text


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (r'{"id": 1, "password": "hu\"sh", "n": 2', f'{{"id": 1, "password": {HIDDEN}, "n": 2'),
        ('{"apiKey": {"value": "hus', f'{{"apiKey": {HIDDEN}'),
        ('{"a": {"n": 1, "password": "hus', f'{{"a": {{"n": 1, "password": {HIDDEN}'),
        ('{"a": [{"n": [1]}, {"pin": 4471}], "b', f'{{"a": [{{"n": [1]}}, {{"pin": {HIDDEN}}}], "b'),
        (r'{"a": "{\"n\":1,\"password\":\"hush\"}", "b', f'{{"a": "{{\\"n\\":1,\\"password\\":\\"{HIDDEN}\\"}}", "b'),
        (r'{"a": "{\"password\":\"hush\"', f'{{"a": "{{\\"password\\":{HIDDEN}'),
        ("user=ada password=hush pin: 4471; Active: yes", f"user=ada password={HIDDEN} pin: {HIDDEN}; Active: yes"),
        ('password="two words" by admin', f"password={HIDDEN} by admin"),
        ("userPassword:: aHVzaA==", f"userPassword:: {HIDDEN}"),
        ('ada,"{""id"": 1, ""password"": ""hush""}"', f'ada,"{{"id": 1, "password": {HIDDEN}}}"'),
        ('ada,"[{""name"": ""x"", ""pin"": 4471', f'ada,"[{{"name": "x", "pin": {HIDDEN}'),
        ('{"n": "", "m": ""}', '{"n": "", "m": ""}'),
    ],
)
def test_secrets_in_text_and_broken_json_are_hidden(text: str, hidden: str) -> None:
    assert mask_text(text) == hidden


def test_json_nested_too_deeply_is_hidden() -> None:
    assert mask_json('{"a":' * 5_000 + "1" + "}" * 5_000) == HIDDEN


@pytest.mark.parametrize(
    "header", ["Ｐａｓｓｗｏｒｄ", "otpsecret", "MFA Seed", "Auth Key", "PUK", "CVV", "Session ID", "Geheimnis"]
)
def test_header_of_a_secret_is_recognized(header: str) -> None:
    assert looks_secret(header)


@pytest.mark.parametrize("header", ["Secretary", "Geheimnisträger", "access_key_1_active", "Session", "Seed", "Label"])
def test_header_that_resembles_one_of_a_secret_is_kept(header: str) -> None:
    assert not looks_secret(header)


# Texts that make a backtracking pattern read the rest again from every start: at this length, that takes minutes.
_HOSTILE = {
    "escaped quotation marks": '"a":1 ' + r"\"" * 100_000,
    "a name that does not end": '{"a":1,"' + r"\"" * 100_000,
    "lists that do not end": '"a":[' * 40_000,
    "texts in texts": '{"a":1,' + '"b":"' + r"\"a\":" * 40_000,
    "a long word": "a" * 200_000,
    "words with dashes": "a-" * 100_000,
    "long path": '{"' + "k" * 50_000 + '":{' + ",".join(f'"{n}":1' for n in range(10_000)) + "}}",
}


@pytest.mark.parametrize("text", _HOSTILE.values(), ids=list(_HOSTILE))
def test_hostile_text_is_masked_in_linear_time(text: str) -> None:
    start = time.process_time()

    mask_text(text)

    assert time.process_time() - start < 5


def test_value_below_a_path_that_is_too_long_is_hidden() -> None:
    assert json.loads(mask_json('{"' + "k" * 600 + '": {"a": "hush", "b": ""}}')) == {"k" * 600: {"a": HIDDEN, "b": ""}}
