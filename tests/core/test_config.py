from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from rolecall.core import config
from rolecall.core.config import ConfigError, RateLimit


def test_nothing_set_is_a_service_for_this_machine() -> None:
    plain = config.load({})

    assert plain == config.Config()
    assert plain.database_url is None
    assert plain.timezone == ZoneInfo("UTC")


def test_variables_set_fields() -> None:
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


def test_an_override_wins_unless_it_is_none() -> None:
    environ = {"ROLECALL_DATA_DIR": "/a"}

    assert config.load(environ, data_dir=Path("/b")).data_dir == Path("/b")
    assert config.load(environ, data_dir=None).data_dir == Path("/a")


def test_a_file_may_hold_the_value(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://secret@db/rolecall\n")

    given = config.load({"ROLECALL_DATABASE_URL_FILE": str(tmp_path / "url")})

    assert given.database_url == "postgresql://secret@db/rolecall"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ROLECALL_TIMEZONE", "Mars/Olympus"),
        ("ROLECALL_TICK_SECONDS", "soon"),
        ("ROLECALL_RATE_LIMIT", "many"),
        ("ROLECALL_RATE_LIMIT", "0"),
        ("ROLECALL_LOG", "xml"),
        ("ROLECALL_POOL_SIZE", "-1"),
        ("ROLECALL_DATABASE_URL_FILE", "/nowhere/url"),
    ],
)
def test_what_cannot_work_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        config.load({name: value})
