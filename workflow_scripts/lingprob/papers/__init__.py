"""From tables to a paper's numbers, a module a paper."""
