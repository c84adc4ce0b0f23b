"""Benchmarks against other engines. Each is a program: `python -m bench.NAME --help`.

- masks: JSON Schemas from the world: compile time, masks, accepts, verdicts, memory
- grammars: ordinary grammars of every source language
- cliffs: grammars that make engines slow
- ablation: what each of our optimisations is worth
- memory: long texts and many grammars: does memory stay bounded?
- startup: what a new process pays before its first mask
- sampling: masked sampling on a CUDA device against plain PyTorch
"""
