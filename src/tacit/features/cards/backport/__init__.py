"""backport."""
