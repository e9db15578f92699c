"""The papers' quantities the straightforward way: loops over stored maps, one sequence at a time.

Written from the papers' descriptions and nothing else, so that two things can be shown on the same
maps: the numbers are the same, and what the loops cost. `maps[layer, head, query, key]` are one
sequence's, as `output_attentions=True` would give them.
"""
