"""People: what they decided, what is forecast of them, what sessions assumed, and what is learned from the difference."""
