"""Propose how files are read: their format, header line, columns, values and contents, each with its evidence.

sample.py       the head and the tail of a file; enough to propose, however long the file is
recognize.py    the format and encoding of a sample
found.py        the rows of a sample as text
workbooks.py    the sheets of a workbook that have tables
json_lists.py   the lists of records in a JSON file
headers.py      the delimiter, the header line and the totals row of CSV
profiles.py     what the values of a column look like
meanings.py     which field a column is, by header and by values
parts.py        one content of a file, and the view of a file that the rules decide by
holders.py      rules for files about people: accounts, or the people of an HR system
access.py       rules for files about access: groups, memberships, permissions, matrices
kinds.py        users and groups that one column names
directory.py    people and groups of a directory export
values.py       formats of dates, and words for statuses and types
contents.py     which contents a file feeds, and the shape of each
by_template.py  the file group of a connector template that fits a file
proposals.py    the connector for several files together
proposing.py    proposals in a child process with limits
drafts.py       drafts of the console, from the files to the import
"""
