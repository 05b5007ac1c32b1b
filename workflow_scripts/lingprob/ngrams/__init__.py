"""n-gram models: counted or estimated by KenLM, and scored like any other model."""
