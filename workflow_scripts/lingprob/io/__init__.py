"""Files, tables and texts: reading, checking, fetching and writing them."""
