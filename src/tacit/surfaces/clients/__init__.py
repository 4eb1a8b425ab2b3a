"""How Tacit is connected to the coding agents people use: what each client's settings look like, and how they are edited.

`connections` says which pieces belong into which files; `json_settings` and `text_edits` put one into a text and take it out
again; `installation` turns them into changes, writes those and keeps the record of them. Edits are made in the text itself, so
that everything else in a file stays as its owner wrote it.
"""
