"""The aha-card workflow over ledger, gate and files: record, list, signal, review and graduate cards.

The ledger is the truth; the folder of the original tool is kept in step where there is one; each card's text goes through
the gate as a lesson, and only a lesson's own life decides what agents are shown by recall.
"""
