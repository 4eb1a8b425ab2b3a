"""Agent logs in → trajectories out: one reader per client, and redaction. Learns nothing and keeps nothing."""

from tacit.ingest.redaction import redacted
from tacit.ingest.sources import READERS, find_reader, passed_over, read

__all__ = ["READERS", "find_reader", "passed_over", "read", "redacted"]
