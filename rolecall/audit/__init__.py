"""Read and verify the audit: hash chains of entries that say who changed what. `schema/audit.sql` writes them."""
