"""Reads documents: a file's bytes → its text with sections and pages, in passages that can be cited.

Files are read by confined processes: `pdf_process` extracts the text pieces of a PDF's pages, `text_process` makes passages of
them, of a web page or of a text. The text is foreign: it is quoted, and nothing in it is obeyed, fetched or run.
"""
