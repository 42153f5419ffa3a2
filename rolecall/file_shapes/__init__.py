"""Propose how to read files: their format, header line, columns, values and contents, with evidence for each.

    tables/     the bytes of a file become rows of text below a header line
    columns/    headers and values say what a column means
    cells/      how the cells of a column are read: dates, words, and several names in one cell
    accounts/   rules about accounts and people
    grants/     rules about groups, memberships and permissions, matrices among them
    files/      the contents of each file, what several files say together, and the connector
    drafts.py   drafts of the console, from the files to the import; the other modules apply a person's decisions

The words of this package:
access   groups, memberships and permissions
holder   the account or group that a grant names
content  one kind of data in a file, such as users or memberships; a file may have several contents
part     a content while it is proposed: its fields, its shape, the evidence and the questions
section  the part of a connector that reads one content
shape    the settings in a section that say how rows and values are read (`FileShape`)
place    the sheet or list that columns and contents are read from; None for the first one
level    how much a permission allows, such as Read or Full
matrix   a table with a column for each permission, group or user; `unpivot` in a shape reads it
question something that a file does not say; a person must answer it, and imports are held until then

The modules:
parts.py         one content of a file, and the view of a file that the rules use
choices.py       keys and values of answers to open questions
as_access.py     columns that a person chooses to read as groups or permissions
draft_answers.py a person's decisions about columns, values and open questions of a draft
draft_access.py  a person's decisions about columns that may be access
"""
