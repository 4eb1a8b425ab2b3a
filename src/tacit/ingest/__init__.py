"""Agent logs and hook journals in → trajectories out: one reader per client, discovery, and redaction."""
