"""Copy the data of Rolecall to Delta Lake tables, so that other query engines can analyze it."""
