"""From the bytes of a file to the rows of a sample below a header line.

sample.py          the head and the tail of a file, which are enough for a proposal
recognize.py       the format and encoding of a sample
sample_table.py    the rows of a sample as text, and their layout
delimited.py       the delimiter and the rows of CSV
printed.py         tables that are aligned with spaces or separated by borders; printed_breaks.py rejects some
workbooks.py       the sheets of a workbook that have tables
json_lists.py      the lists of records in a JSON file
racf.py            the records of a RACF database unload
paired_lines.py    listings with lines such as `KEY = VALUE`, which are rejected
policies.py        policies of Casbin, which are rejected
headers.py         the header line of a table
stacked_headers.py headers of two lines
merged_cells.py    cells that are merged over several rows
last_lines.py      totals, footers, legends and page breaks, which are not rows
section_titles.py  titles between the rows
nulls.py           words such as NULL in place of blank cells
"""
