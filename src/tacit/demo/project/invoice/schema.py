"""The schema: a chain of revisions, one file each in migrations/."""

import runpy
from pathlib import Path

from invoice import db

FOLDER = Path("migrations")
KNOWN = Path(".revisions")
TEMPLATE = '"""{name}"""\n\nPREVIOUS = "{previous}"\nSTATEMENTS = []\n'


class SchemaError(Exception):
    pass


def chain():
    """Revision names, oldest first."""
    following = {}
    for path in sorted(FOLDER.glob("*.py")):
        previous = load(path.stem)["PREVIOUS"]
        if previous in following:
            raise SchemaError(f"{path.stem} and {following[previous]} both follow {previous}")
        following[previous] = path.stem
    names, last = [], None
    while last in following:
        last = following[last]
        names.append(last)
    return names


def load(name):
    return runpy.run_path(str(FOLDER / f"{name}.py"))


def known():
    return KNOWN.read_text().split() if KNOWN.exists() else []


def sync():
    names = chain()
    KNOWN.write_text("\n".join(names) + "\n")
    print(f"revision chain is current, head is {names[-1]}")


def make(name):
    names = chain()
    if known() != names:
        raise SchemaError("revision chain is stale: run `python3 manage.py sync` first")
    path = FOLDER / f"{name}.py"
    if path.exists():
        raise SchemaError(f"{path} exists")
    path.write_text(TEMPLATE.format(name=name.replace("_", " "), previous=names[-1]))
    KNOWN.write_text("\n".join([*names, name]) + "\n")
    print(f"created {path}")


def migrate(connection=None):
    connection = connection or db.connect()
    connection.execute("CREATE TABLE IF NOT EXISTS applied (name TEXT PRIMARY KEY)")
    done = {row[0] for row in connection.execute("SELECT name FROM applied")}
    for name in chain():
        if name in done:
            continue
        for statement in load(name)["STATEMENTS"]:
            connection.execute(statement)
        connection.execute("INSERT INTO applied VALUES (?)", (name,))
        print(f"applied {name}")
    connection.commit()


def status():
    for name in chain():
        print(("known   " if name in known() else "unknown ") + name)
