"""Backports: proven cards written into skills, instructions and pages, with a bundle that can be reverted."""
