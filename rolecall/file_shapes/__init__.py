"""Propose how to read files: their format, header line, columns, values and contents, with evidence for each.

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

The main modules:

sample.py       the head and the tail of a file, which are enough for a proposal
recognize.py    the format and encoding of a sample
sample_table.py the rows of a sample as text, and their layout
workbooks.py    the sheets of a workbook that have tables
json_lists.py   the lists of records in a JSON file
keyed_columns.py columns of JSON objects that map names to access; keyed_lists.py and keyed_members.py use them
racf.py         the records of a RACF database unload
delimited.py    the delimiter and the rows of CSV
printed.py      tables that are aligned with spaces or separated by borders
headers.py      the header line of a table
last_lines.py   totals, footers, legends and page breaks, which are not rows
nulls.py        words such as NULL in place of blank cells
profiles.py     statistics about the values of a column
header_words.py the words of headers for each field; header_languages.py has other languages
header_names.py the names and words in a header
meanings.py     scores for the field that a column contains
parts.py        one content of a file, and the view of a file that the rules use
holders.py      rules for files about accounts
people.py       the people of an HR system
access.py       rules for files about access: groups, memberships and permissions
conditions.py   conditions of grants
plain_names.py  rows that have a name and may be groups
group_names.py  holders that may be groups
group_lists.py  lists of groups in JSON
slashes.py      groups that are separated by a slash
commas.py       cells with a comma: several groups or permissions, or one name
matrices.py     matrices with a column for each permission, group or user
addresses.py    states that are part of an address, not statuses
statuses.py     columns that say who is active
kinds.py        columns that name both users and groups
directory.py    people and groups of a directory export
ending.py       end dates of accounts, people and grants
values.py       formats of dates, and words for statuses and types
contents.py     which contents a file has, and the shape of each
by_template.py  the file group of a connector template that fits a file
proposals.py    the connector for several files together
agreement.py    usernames and groups that several files name in different ways
file_groups.py  the file groups of the connector
showing.py      the description of each file for the person who confirms the proposal
proposing.py    proposals in a child process with limits
accounting.py   what becomes of each column of a file
as_access.py    further columns that are read as groups or permissions, because a person says so
drafts.py       drafts of the console, from the files to the import; draft_answers.py and draft_access.py apply a
                person's decisions
"""
