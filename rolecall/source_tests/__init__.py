"""Test the connection to a live source: read the first records and show them as an import would understand them."""
