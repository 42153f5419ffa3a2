"""Who asks, when proxies stand between: what they forward counts, what anyone else claims does not."""

from collections.abc import Sequence
from ipaddress import ip_address

from rolecall.core.config import Network


def sender(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """The nearest address that is no trusted proxy: each proxy adds on the right whom it was asked by."""
    address = peer
    for claimed in reversed(forwarded.split(",")):
        if not is_among(address, trusted) or not _is_address(claimed.strip()):
            break
        address = claimed.strip()
    return address


def is_among(address: str, networks: Sequence[Network]) -> bool:
    return _is_address(address) and any(ip_address(address) in network for network in networks)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
