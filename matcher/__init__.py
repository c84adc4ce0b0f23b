"""Earley sets as values: vocabulary, compiled grammars, matchers, masks. See docs/earley.md."""
