from ipaddress import ip_network

import pytest

from rolecall.core.config import ConfigError, load


def test_several_networks_can_be_allowed() -> None:
    config = load({"ROLECALL_WEBHOOK_ALLOW": "10.0.0.0/8, 127.0.0.1,fd00::/8"})

    assert config.webhook_allow == (ip_network("10.0.0.0/8"), ip_network("127.0.0.1/32"), ip_network("fd00::/8"))


@pytest.mark.parametrize("text", ["intranet", "10.0.0.1/8", "10.0.0.0/99"])
def test_invalid_network_is_rejected(text: str) -> None:
    with pytest.raises(ConfigError, match="ROLECALL_WEBHOOK_ALLOW"):
        load({"ROLECALL_WEBHOOK_ALLOW": text})


@pytest.mark.parametrize(
    "text",
    ["rolecall.example.com", "ftp://a.example", "https://", "https://a b", "https://a.example/?q", "http://[::1"],
)
def test_invalid_base_url_is_rejected(text: str) -> None:
    with pytest.raises(ConfigError, match="ROLECALL_BASE_URL"):
        load({"ROLECALL_BASE_URL": text})


def test_trailing_slash_of_base_url_is_removed() -> None:
    assert load({"ROLECALL_BASE_URL": "https://a.example/rolecall/"}).base_url == "https://a.example/rolecall"
