"""Mining: many attempts and their outcomes give small skills with conditions, cues and an order."""
