"""n-gram models of words or tokens, estimated in memory or by KenLM."""
