"""The store on SQLite: sealed rows, an audit chain, full-text indexes, migrations and copies, in one file."""
