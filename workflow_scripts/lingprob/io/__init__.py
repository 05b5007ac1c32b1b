"""Functions that read, check, fetch and write files, tables and texts."""
