"""Claims of papers, one file per paper."""
