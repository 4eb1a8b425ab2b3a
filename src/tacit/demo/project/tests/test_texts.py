import io
import unittest
from decimal import Decimal

from invoice import export, letter

INVOICE = {"number": "2024-0001", "total": Decimal("12.5")}


class Texts(unittest.TestCase):
    def test_csv_has_a_row_for_each_invoice(self):
        stream = io.StringIO()
        export.write_csv([INVOICE], stream)
        self.assertEqual(stream.getvalue().splitlines(), ["number,total", "2024-0001,12.50"])

    def test_letter_names_the_amount(self):
        self.assertIn("12.50 EUR", letter.body(INVOICE))

    def test_reminder_names_the_amount(self):
        self.assertIn("12.50 EUR", letter.reminder(INVOICE))
