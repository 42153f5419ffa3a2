"""Test the connection to a live source: fetch the first records and show the rows that an import would read."""
