"""The calls of `import lingprob` and the commands of a shell, on the functions of the rules.

Nothing here is imported until one of its names is used.
"""
