"""Invoices as CSV."""

import csv


def write_csv(invoices, stream):
    writer = csv.writer(stream)
    writer.writerow(["number", "total"])
    for invoice in invoices:
        writer.writerow([invoice["number"], f"{invoice['total']:.2f}"])
