"""Reading by a language model: digests of sessions, proposals held against the record, consolidation over sessions."""

from tacit.learn.reading.reader import Reader, ReadingReport

__all__ = ["Reader", "ReadingReport"]
