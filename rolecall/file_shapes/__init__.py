"""Propose how files are read: their format, header line, columns, values and contents, each with its evidence.

sample.py       the head and the tail of a file; enough to propose, however long the file is
recognize.py    the format and encoding of a sample
sample_table.py the rows of a sample as text, and how they were found
workbooks.py    the sheets of a workbook that have tables
json_lists.py   the lists of records in a JSON file
racf.py         the records of a RACF database unload
delimited.py    the delimiter and the rows of CSV
printed.py      tables that are aligned with spaces or drawn as boxes
headers.py      the header line of a table
last_lines.py   totals, footers and page breaks, which are no rows
profiles.py     what the values of a column look like
header_words.py the words of headers for each field; header_languages.py those of other languages
header_names.py what a header says: its names and words
meanings.py     which field a column is, by header and by values
parts.py        one content of a file, and the view of a file that the rules decide by
holders.py      rules for files about people: accounts, or the people of an HR system
access.py       rules for files about access: groups, memberships, permissions, matrices
kinds.py        users and groups that one column names
directory.py    people and groups of a directory export
ending.py       last days of accounts, people and grants
values.py       formats of dates, and words for statuses and types
contents.py     which contents a file feeds, and the shape of each
by_template.py  the file group of a connector template that fits a file
proposals.py    the connector for several files together
proposing.py    proposals in a child process with limits
drafts.py       drafts of the console, from the files to the import
"""
