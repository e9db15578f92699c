"""Probes: small classifiers on top of what a frozen model shows."""
