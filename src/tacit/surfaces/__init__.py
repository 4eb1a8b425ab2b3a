"""Surfaces: where people and agents meet Tacit. They translate, call the loop, and translate back; no logic of their own."""
