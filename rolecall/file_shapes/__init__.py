"""Propose how files are read: their format, header line, columns, values and contents, each with its evidence.

sample.py     the head and the tail of a file; enough to propose, however long the file is
recognize.py  the format and encoding of a sample, and its rows as text
headers.py    the delimiter, the header line and the totals row of CSV
profiles.py   what the values of a column look like
meanings.py   which field a column is, by header and by values
contents.py   which contents a file feeds, and the shape of each
proposals.py  the connector for several files together
"""
