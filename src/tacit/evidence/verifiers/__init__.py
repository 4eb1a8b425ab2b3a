"""Verifiers: checks that Tacit runs itself, so that an outcome is verified."""
