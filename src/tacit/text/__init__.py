"""Pure text work that several stages share: words, similarity, error signatures, redaction, fences. No effects, stdlib only."""
