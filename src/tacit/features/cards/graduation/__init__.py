"""Proven knowledge → the skills, instructions and pages that people keep: planned, bundled, patched, inspected, taken back."""
