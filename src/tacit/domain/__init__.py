"""The nouns of Tacit and their laws: frozen values, lifecycle table, ids, ports, errors. Pure: stdlib only, no effects."""
