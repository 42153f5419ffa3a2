"""The audit: who changed what, in hash chains. `schema/audit.sql` writes entries; this package verifies them."""
