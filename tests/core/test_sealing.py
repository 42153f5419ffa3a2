import stat
from pathlib import Path
from uuid import uuid4

import pytest

from rolecall.core.config import Config, ConfigError, load
from rolecall.core.sealing import KEY_FILE, CannotUnseal, load_key, new_key, seal, unseal

OWNER = uuid4()


def test_sealed_secret_can_be_unsealed_and_reveals_nothing(tmp_path: Path) -> None:
    key = load_key(Config(data_dir=tmp_path))
    sealed = seal(key, b"whsec_abc", OWNER)

    assert unseal(key, sealed, OWNER) == b"whsec_abc"
    assert b"whsec" not in sealed
    assert sealed != seal(key, b"whsec_abc", OWNER)


def test_secret_cannot_be_unsealed_with_another_key_or_record_or_after_a_change() -> None:
    key = bytes.fromhex(new_key())
    sealed = seal(key, b"secret", OWNER)

    for wrong in [
        (bytes.fromhex(new_key()), sealed, OWNER),
        (key, sealed, uuid4()),
        (key, sealed[:-1] + bytes([sealed[-1] ^ 1]), OWNER),
    ]:
        with pytest.raises(CannotUnseal):
            unseal(*wrong)


def test_key_file_is_created_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    config = Config(data_dir=tmp_path / "fresh")

    assert load_key(config) == load_key(config)
    assert stat.S_IMODE((config.data_dir / KEY_FILE).stat().st_mode) == 0o600
    assert [file.name for file in config.data_dir.iterdir()] == [KEY_FILE]


def test_key_from_the_environment_takes_precedence(tmp_path: Path) -> None:
    config = load({"ROLECALL_SECRET_KEY": "ab" * 32, "ROLECALL_DATA_DIR": str(tmp_path)})

    assert load_key(config) == b"\xab" * 32
    assert list(tmp_path.iterdir()) == []


def test_malformed_key_is_rejected_without_printing_it() -> None:
    with pytest.raises(ConfigError) as refused:
        load({"ROLECALL_SECRET_KEY": "hunter2"})

    assert "openssl rand -hex 32" in str(refused.value)
    assert "hunter2" not in str(refused.value)
