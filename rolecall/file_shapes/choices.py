"""The keys and values of choices that do more than read a column as a field."""

# The value of a choice that leaves the proposal unchanged.
AS_PROPOSED = ""
# The key of a choice that reads a file as another content.
CONTENT = "content"
# The key of a choice that says which rows to leave out. Its value is a column and a date format (rows with past dates);
# a column, `is` and words (rows with these words); or only a column (no rows). SEPARATOR joins the parts.
SKIP_ROWS, SEPARATOR = "skipRowsWhere", "\x1f"
# The key of a choice that leaves the file out of the import.
LEAVE_OUT = "leaveOut"
