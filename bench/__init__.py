"""What headscope costs, as ratios."""
