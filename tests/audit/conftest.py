from ipaddress import ip_network

import msgspec
import pytest

from rolecall.core.config import Config


@pytest.fixture
def config(config: Config) -> Config:
    """Allow webhooks to loopback."""
    return msgspec.structs.replace(config, webhook_allow=(ip_network("127.0.0.0/8"),))
