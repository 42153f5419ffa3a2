"""Check the folders of a service: free space, and who can read and write them."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from rolecall.core.config import MIB, Config
from rolecall.core.sealing import KEY_FILE
from rolecall.operate.check_results import CheckResult, CheckState, fine, trouble

LEAST_FREE_PERCENT, LEAST_FREE_BYTES = 10, 1024 * MIB


def disks(config: Config) -> Iterator[CheckResult]:
    """Check each disk once, even if several folders are on it."""
    folders = [config.data_dir, config.data_dir / "postgres", config.store.folder]
    if config.files_url:
        place = urlsplit(config.files_url)
        folders += [Path(place.path)] if place.scheme in ("", "file") else []
    # The dict keeps the last folder of each disk; reverse the order, so that this is the first folder.
    by_disk = {folder.stat().st_dev: folder for folder in reversed(folders) if folder.exists()}
    for folder in reversed(by_disk.values()):
        yield from _disk(folder)


def _disk(folder: Path) -> Iterator[CheckResult]:
    usage = shutil.disk_usage(folder)
    percent = 100 * usage.free // usage.total
    detail = f"{percent} % free ({usage.free // MIB:,} MiB) under {folder}"
    if percent >= LEAST_FREE_PERCENT and usage.free >= LEAST_FREE_BYTES:
        yield fine("disk", detail)
    else:
        state = CheckState.TROUBLE if usage.free < LEAST_FREE_BYTES else CheckState.WARNING
        yield CheckResult("disk", state, detail, "free some space or enlarge the disk; a full disk stops every write")


def permissions(config: Config) -> Iterator[CheckResult]:
    """Check that other users cannot read data, write to the folder or hold locks, and that this user can write."""
    problems = []
    locks = [(name, 0o600) for name in ("serve.lock", "postgres.lock", "postgres.users")]
    for name, most in (("postgres", 0o700), ("files", 0o700), (KEY_FILE, 0o600), *locks):
        path = config.data_dir / name
        if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & ~most:
            problems.append(trouble("permissions", f"{path} has mode {mode:o}", f"run `chmod {most:o} {path}`"))
    # Allow other users to traverse the folder: if this process runs as root, PostgreSQL runs as another user.
    if stat.S_IMODE(config.data_dir.stat().st_mode) & stat.S_IWOTH:
        problems.append(
            trouble("permissions", f"any user can write to {config.data_dir}", f"run `chmod o-w {config.data_dir}`")
        )
    if not os.access(config.data_dir, os.W_OK):
        problems.append(trouble("permissions", f"{config.data_dir} cannot be written", "run as the user who owns it"))
    yield from problems or [fine("permissions", f"only the owner can read the data in {config.data_dir}")]
