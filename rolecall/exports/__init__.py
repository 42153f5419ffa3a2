"""Record exports of whole lists: what was exported, by whom and when. `core/exporting.py` writes the files."""
