"""A model's profile: its place in all four papers beside the other models that are there.

`rows` brings a model's tables to one row a quantity; `page` shows them beside those of others.
"""
