"""Self-contained parts on top of the API. Each folder has its own commands and can be deleted; core never imports one."""
