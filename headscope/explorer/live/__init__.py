"""Live attention: one text through a loaded model, looked at head by head.

`reading` turns typed text into tokens and words, `passes` runs the model and keeps its maps,
`predictions` says what the model predicts, `changes` what an edit did, `maps` what is sent.
"""
