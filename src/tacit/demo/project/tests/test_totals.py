import unittest
from decimal import Decimal

from invoice import totals


class Totals(unittest.TestCase):
    def test_cents_add_up(self):
        self.assertEqual(totals.grand_total([("1", "0.10"), ("1", "0.20")]), Decimal("0.30"))

    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(totals.line_total("1", "1.005"), Decimal("1.01"))
