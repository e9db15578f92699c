"""How cost grows with tokens, layers, heads, sequences, roles and relations."""
