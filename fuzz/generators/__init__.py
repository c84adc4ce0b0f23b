"""Random inputs, one module for each kind of thing; `fuzz.generate` puts them together to cases."""
