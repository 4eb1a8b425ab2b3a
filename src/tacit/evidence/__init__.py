"""Evidence: what attempts and uses show about skills: assessment, attribution, reliability, lift.

The agent's own claim of success is never trusted; what cannot be checked is unknown.
"""
