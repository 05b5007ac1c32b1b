"""Language models: loading them, and converting the demo model to a form that loads fast."""
