"""Pure text work that several stages share: words, similarity, error signatures, redaction. No effects, stdlib only."""
