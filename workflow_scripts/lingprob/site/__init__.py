"""Pages: one template and one style sheet for the site, its tables and single pages.

`papers` has the question of each paper, and `facts` the settings and catalog of a run. Rules read
both. `models` has one row for each quantity of each model. `page` fills the templates, `cards`
shows scorecards, and `pages` builds the site.
"""

from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
