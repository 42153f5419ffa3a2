from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from rolecall.core import config
from rolecall.core.config import ConfigError, RateLimit


def test_defaults_configure_a_local_service() -> None:
    plain = config.load({})

    assert plain == config.Config()
    assert plain.database_url is None
    assert plain.timezone == ZoneInfo("UTC")


def test_environment_variables_set_the_settings() -> None:
    given = config.load(
        {
            "ROLECALL_DATABASE_URL": "postgresql://db/rolecall",
            "ROLECALL_DATA_DIR": "/var/lib/rolecall",
            "ROLECALL_BASE_URL": "https://access.example/",
            "ROLECALL_TIMEZONE": "Europe/Zurich",
            "ROLECALL_TICK_SECONDS": "0.5",
            "ROLECALL_RATE_LIMIT": "600,60",
            "ROLECALL_LOG": "json",
        }
    )

    assert given.database_url == "postgresql://db/rolecall"
    assert given.data_dir == Path("/var/lib/rolecall")
    assert given.base_url == "https://access.example"
    assert given.timezone == ZoneInfo("Europe/Zurich")
    assert given.tick_seconds == 0.5
    assert given.rate_limit == RateLimit(600, 60)
    assert given.log == "json"


def test_override_takes_precedence_unless_it_is_none() -> None:
    environ = {"ROLECALL_DATA_DIR": "/a"}

    assert config.load(environ, data_dir=Path("/b")).data_dir == Path("/b")
    assert config.load(environ, data_dir=None).data_dir == Path("/a")


def test_value_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://secret@db/rolecall\n")

    given = config.load({"ROLECALL_DATABASE_URL_FILE": str(tmp_path / "url")})

    assert given.database_url == "postgresql://secret@db/rolecall"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ROLECALL_TIMEZONE", "Mars/Olympus"),
        ("ROLECALL_TIMEZONE", "Europe"),
        ("ROLECALL_TIMEZONE", "/etc/hosts"),
        ("ROLECALL_TICK_SECONDS", "soon"),
        ("ROLECALL_TICK_SECONDS", "nan"),
        ("ROLECALL_TICK_SECONDS", "-1"),
        ("ROLECALL_TICK_SECONDS", "inf"),
        ("ROLECALL_BASE_URL", "https://rolecall.example.com:port"),
        ("ROLECALL_DATABASE_URL", "db.example.com"),
        ("ROLECALL_RATE_LIMIT", "many"),
        ("ROLECALL_RATE_LIMIT", "0"),
        ("ROLECALL_LOG", "xml"),
        ("ROLECALL_POOL_SIZE", "-1"),
        ("ROLECALL_PASSWORDS", "no"),
        ("ROLECALL_MAILED_LINKS", "no"),
        ("ROLECALL_DATABASE_URL_FILE", "/nowhere/url"),
        ("ROLECALL_IMPORT_ROOTS", "/srv/exports,https://"),
        ("ROLECALL_IMPORT_ROOTS", "https:///hr"),
        ("ROLECALL_FILES_URL", "https://files.example.com/rolecall"),
        ("ROLECALL_FILES_URL", "dir::HTTP://files.example.com/rolecall"),
    ],
)
def test_error_names_the_invalid_variable(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        config.load({name: value})


def test_all_invalid_settings_are_reported_at_once() -> None:
    environ = {
        "ROLECALL_TIMZEONE": "Europe/Zurich",
        "ROLECALL_TIMEZONE": "Mars/Olympus",
        "ROLECALL_POOL_SIZE": "ten",
        "ROLECALL_BASE_URL": "rolecall",
        "ROLECALL_OIDC_ISSUER": "http://provider.example.com",
    }

    with pytest.raises(ConfigError) as refused:
        config.load(environ)

    assert str(refused.value).splitlines() == [
        "ROLECALL_TIMZEONE is not a setting; did you mean ROLECALL_TIMEZONE?",
        "ROLECALL_BASE_URL: 'rolecall' is not a URL such as https://rolecall.example.com",
        "ROLECALL_TIMEZONE: 'Mars/Olympus' is not a time zone such as Europe/Zurich",
        "ROLECALL_POOL_SIZE: 'ten' is not a whole number above 0",
        "ROLECALL_OIDC_ISSUER: 'http://provider.example.com' is not an https URL",
        "ROLECALL_OIDC_CLIENT_ID is not set; OpenID Connect needs issuer, client ID and secret",
    ]


@pytest.mark.parametrize(
    "name",
    ["ROLECALL_TIME_ZONE", "ROLECALL_DATADIR", "ROLECALL_BASEURL", "ROLECALL_LOGS", "ROLECALL_SECRET_KEY_FLIE"],
)
def test_misspelt_setting_is_rejected(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is not a setting; did you mean ROLECALL_"):
        config.load({name: "x"})


def test_unrelated_variables_are_ignored() -> None:
    kubernetes = {
        "ROLECALL_SERVICE_HOST": "10.0.0.1",
        "ROLECALL_PORT": "tcp://10.0.0.1:80",
        "ROLECALL_SERVICE_PORT": "80",
    }
    client = {"ROLECALL_URL": "https://a.example", "ROLECALL_TOKEN": "rct_x", "ROLECALL_PROFILE": "x"}

    assert config.load(kubernetes | client | {"ROLECALL_HOST": "a.example"}) == config.Config()


def test_invalid_url_is_reported_without_its_password() -> None:
    with pytest.raises(ConfigError) as refused:
        config.load({"ROLECALL_DATABASE_URL": "mysql://rolecall:hunter2@db/rolecall"})

    assert "hunter2" not in str(refused.value)
