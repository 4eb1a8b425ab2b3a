"""Configuration: the only reader of configuration files and environment variables."""
