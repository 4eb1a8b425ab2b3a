"""initial"""

PREVIOUS = None
STATEMENTS = [
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)",
    "CREATE TABLE invoices (id INTEGER PRIMARY KEY, number TEXT, customer_id INTEGER)",
    "CREATE TABLE line_items (id INTEGER PRIMARY KEY, invoice_id INTEGER, quantity TEXT, price TEXT)",
    "CREATE TABLE payments (id INTEGER PRIMARY KEY, invoice_id INTEGER, amount TEXT)",
]
