"""From tables to a paper's numbers, a room (package) a paper or study."""
