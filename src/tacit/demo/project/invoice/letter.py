"""The letter that goes with an invoice."""


def body(invoice):
    return f"Please pay {invoice['total']:.2f} EUR for invoice {invoice['number']}."


def reminder(invoice):
    return f"Invoice {invoice['number']} over {invoice['total']:.2f} EUR is overdue."
