"""Encrypt secrets at rest (AES-256-GCM), each bound to the record that owns it.

The key comes from `ROLECALL_SECRET_KEY`, which several machines must share, or is created in the data folder.
"""

import os
import secrets
from pathlib import Path
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from rolecall.core.config import Config, ConfigError, secret_key
from rolecall.core.faults import fault

KEY_FILE = "secret.key"
_NONCE_BYTES = 12


class CannotUnseal(Exception):
    """The secret was encrypted with another key or for another record, or has been changed since."""


def load_key(config: Config) -> bytes:
    """Load the key, creating it on first use."""
    file = config.data_dir / KEY_FILE
    if not config.secret_key and not file.exists():
        _make_key(file)
    return config.secret_key or _read_key(file)


def find_key(config: Config) -> bytes | None:
    file = config.data_dir / KEY_FILE
    return config.secret_key or (_read_key(file) if file.exists() else None)


def _read_key(file: Path) -> bytes:
    try:
        return secret_key(file.read_text().strip())
    except OSError as error:
        raise ConfigError(f"The secret key cannot be read from {file}: {error.strerror}") from error


def seal(key: bytes, secret: bytes, owner: UUID) -> bytes:
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, secret, owner.bytes)


def unseal(key: bytes, sealed: bytes, owner: UUID) -> bytes:
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], owner.bytes)
    except InvalidTag:
        raise CannotUnseal("encrypted with another key; all processes need the same ROLECALL_SECRET_KEY") from None


def can_unseal(key: bytes, sealed: bytes, owner: UUID) -> bool:
    try:
        unseal(key, sealed, owner)
    except CannotUnseal:
        return False
    return True


def _make_key(file: Path) -> None:
    """Create the key file atomically: two processes that start at once both use the key that was linked first."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_name(f"{KEY_FILE}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as made:
            made.write(new_key() + "\n")
            made.flush()
            fault("key.before-sync")
            os.fsync(made.fileno())
        fault("key.after-sync")
        file.hardlink_to(fresh)
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(f"The secret key cannot be written to {file}: {error.strerror}") from error
    finally:
        fresh.unlink(missing_ok=True)


def new_key() -> str:
    return AESGCM.generate_key(256).hex()
