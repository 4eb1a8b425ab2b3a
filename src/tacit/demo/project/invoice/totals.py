"""Sums over invoice lines."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def line_total(quantity, price):
    return (Decimal(quantity) * Decimal(price)).quantize(CENT, ROUND_HALF_UP)


def grand_total(lines):
    return sum((line_total(quantity, price) for quantity, price in lines), Decimal(0))
