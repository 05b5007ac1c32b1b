"""Pages: one template and one style sheet for the site, its tables and single pages.

`papers` says what each paper asks, and `facts` what went into a run; rules read both. `models` has
a row for each quantity of each model. `page` fills the templates, `cards` shows scorecards, and
`pages` builds the site.
"""

from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
