"""Working memory of a running session: notes that its agents share while it lasts, and lessons from them."""
