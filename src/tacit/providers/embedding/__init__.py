"""Embedders behind their port: texts → vectors of one space. Ranks nothing, stores nothing.

`opening.open_embedder` gives the one that the settings name. What the extras bring is imported when a text is embedded,
not before, and `static` needs none of it, so that a hook can afford it.
"""
