"""Access models: who should have which access, by conditions on people; drafts are committed as versions."""
