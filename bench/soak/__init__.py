"""Hours of `analyze` over a growing corpus and of `serve` under load: does anything creep up?"""
