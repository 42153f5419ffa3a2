"""Determine the client's address behind trusted proxies; ignore forwarding headers from other hosts."""

from collections.abc import Sequence
from ipaddress import ip_address

from rolecall.core.config import Network


def sender(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """Return the client's address: `peer` or, if that is a trusted proxy, the last untrusted address in `forwarded`.

    Each proxy appends the address of its client to `forwarded`, so read it from right to left. If an entry is not an
    address, or no entry is left, return the trusted address that was read last.
    """
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
