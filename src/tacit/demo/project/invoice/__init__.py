"""Invoices, their lines, customers and payments."""
