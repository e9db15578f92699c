"""The explorer: runs, tables, live attention and labelling in the browser.

`app` puts the parts together, `gate` decides who may come in, `limits` what one request may cost,
`connections` how long a client may take. `runs`, `labels` and `live` answer; `page/` is what the
browser shows. Without a model torch is never loaded.
"""
