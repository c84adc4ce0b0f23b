"""The commands of `infernix`, one module each. Heavy imports stay inside the functions that need them."""
