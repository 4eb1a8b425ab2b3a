"""Embedders behind their port: texts → vectors of one space. Ranks nothing, stores nothing.

`embedder_choice.open_embedder` gives the one that the settings name. What the extra brings is imported when a text is
embedded, not before.
"""
