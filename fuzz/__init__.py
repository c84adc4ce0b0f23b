"""Differential fuzzing of engines against each other. Not begun: the generators of random grammars and
vocabularies stand in `tests/matcher/generate.py`, where the property tests use them.
"""
