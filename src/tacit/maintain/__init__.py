"""Maintenance of the library: status changes, revisions, composition, merging, contradictions, promotion, revalidation."""
