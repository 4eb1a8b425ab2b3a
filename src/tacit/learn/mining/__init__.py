"""Mining across trajectories: many attempts and their outcomes → small skills with conditions, cues and order."""
