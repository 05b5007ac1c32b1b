"""Language models: fetched, checked, converted and loaded."""
