"""Commands for the invoice database."""

import argparse
import sys

from invoice import db, schema


def main() -> int:
    parser = argparse.ArgumentParser(prog="manage.py")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("status", help="show the revision chain and what is applied")
    commands.add_parser("sync", help="read the revision chain from migrations/ into .revisions")
    make = commands.add_parser("makemigration", help="create an empty migration at the end of the chain")
    make.add_argument("name")
    commands.add_parser("migrate", help="apply what is not applied yet")
    seed = commands.add_parser("seed", help="insert sample invoices")
    seed.add_argument("--count", type=int, default=10)
    options = parser.parse_args()
    try:
        if options.command == "status":
            schema.status()
        elif options.command == "sync":
            schema.sync()
        elif options.command == "makemigration":
            schema.make(options.name)
        elif options.command == "migrate":
            schema.migrate()
        else:
            db.seed(options.count)
    except schema.SchemaError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
