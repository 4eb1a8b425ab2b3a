import contextlib
import io
import sqlite3
import unittest

from invoice import db, schema


class Schema(unittest.TestCase):
    def test_all_migrations_apply_to_an_empty_database(self):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.closing(sqlite3.connect(":memory:")) as connection:
            schema.migrate(connection)

    def test_no_migration_is_empty(self):
        self.assertEqual([name for name in schema.chain() if not schema.load(name)["STATEMENTS"]], [])

    def test_every_migration_is_in_the_chain(self):
        self.assertEqual(sorted(schema.chain()), sorted(path.stem for path in schema.FOLDER.glob("*.py")))

    @unittest.skipUnless(db.PATH.exists(), "no development database")
    def test_development_database_is_migrated(self):
        with contextlib.closing(db.connect()) as connection:
            self.assertEqual({row[0] for row in connection.execute("SELECT name FROM applied")}, set(schema.chain()))
