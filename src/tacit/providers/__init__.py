"""Language models, embedders and the sandbox behind their ports: settings → something that answers within its limits.

What an extra brings is imported when a model or embedder is opened, not before.
"""
