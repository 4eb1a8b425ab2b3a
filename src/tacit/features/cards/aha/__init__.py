"""The aha-card workflow's own formats: entries of the ledger ↔ lines of its JSONL files, ids, scores and INDEX.md.

Pure: reads no file and decides nothing about trust. The files are those of self-learning-skills, store format v1.
"""
