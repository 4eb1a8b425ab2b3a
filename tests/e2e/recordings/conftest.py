"""Keep the recorded project's own tests out of this suite."""

collect_ignore_glob = ["project/*"]
