"""Independence: did the judged run change its own check? Compares a workspace with its state when the skill was shown."""
