"""People who stand in for each other use the console."""

from tests.console.conftest import administrator, visitor

__all__ = ["administrator", "visitor"]
