"""What a column means, by its header and its values.

header_words.py  the words of headers for each field; header_languages.py has other languages
header_names.py  the names and words in a header
profiles.py      statistics about the values of a column
secret_values.py columns of passwords and password hashes
meanings.py      scores for the field that a column contains
"""
