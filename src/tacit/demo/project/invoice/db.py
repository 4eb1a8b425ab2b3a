"""The development database."""

import sqlite3
from pathlib import Path

PATH = Path("dev.sqlite3")


def connect(path=PATH):
    return sqlite3.connect(path)


def seed(count):
    with connect() as connection:
        for number in range(1, count + 1):
            connection.execute("INSERT INTO invoices (number) VALUES (?)", (f"2024-{number:04d}",))
    print(f"inserted {count} invoices")
