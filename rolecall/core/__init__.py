"""Code that depends on neither HTTP nor governance: database, clock, lists, validation, files and logs."""
