"""Differential fuzzing: engines for constrained decoding against each other, and against standards.

Reading order is that of a case's life:

    choices, generators/, generate    a seed and a number -> a case
    case, files                       a case as plain data, and as TOML
    engines, peers                    the engines behind one protocol
    walks, trace                      a case on one engine: the walk is decided, and what shows is noted
    host, hosted                      the same in a process of its own, which may crash, hang or grow
    judge, compare, session           differences: to another engine, to a standard, to itself
    shrink, reduce_*                  the smallest case that shows the same
    features, known                   is the difference known? `known_differences.toml`, `examples/`
    job, campaign, progress           many cases, in worker processes, kept on disk
    contract, replay, commands        `infernix fuzz run | replay | contract`
"""
