from ipaddress import ip_network

import msgspec
import pytest

from rolecall.core.config import AllowedHosts, Config


@pytest.fixture
def config(config: Config) -> Config:
    """Allow webhooks and live sources on the loopback address."""
    loopback = (ip_network("127.0.0.0/8"),)
    return msgspec.structs.replace(config, webhook_allow=loopback, source_hosts=AllowedHosts(networks=loopback))
