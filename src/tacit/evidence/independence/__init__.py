"""Independence: did the run that is judged change what judges it? A workspace, a moment and a commit → a doubt, or none."""

from tacit.evidence.independence.ground import Ground

__all__ = ["Ground"]
