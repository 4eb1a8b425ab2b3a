"""Scan: check skills from elsewhere. `tacit check`, the checks on bundled files and code, detonation in a sandbox."""
