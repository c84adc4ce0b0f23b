"""Infernix."""
