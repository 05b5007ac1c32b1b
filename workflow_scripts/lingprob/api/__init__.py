"""The public functions of `import lingprob` and the command `lingprob`.

They call the same functions as the workflow's rules. Each module is imported at its first use.
"""
