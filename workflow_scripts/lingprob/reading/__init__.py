"""Parse texts that people read and their reading times, and compute word surprisals for them."""
