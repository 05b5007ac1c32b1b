"""Inputs of pages for tests, and functions that read pages."""

from html.parser import HTMLParser


def row(kind: str, verdict: str, **values: object) -> dict[str, object]:
    """Return one row of a scorecard, without values if it was not run."""
    known = {} if verdict == "not run" else {"ours": 0.25, "low": -0.5, "high": 1.0}
    numbers = {"published": 0.5, **({"difference": -0.25} if known else {})}
    return {
        "kind": kind, "role": "paper", "item": "§1", "row": "opt-6.7b/wh_island", "column": "rises",
        "verdict": verdict, "scale": "demo", "note": "", **known,
        **(numbers if kind == "number" else {"sentence": "It rises & rises.", "expected": "> 0"}),
        **values,
    }  # fmt: skip


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements_of(page: str) -> list[str]:
    """Return the elements of a page by name."""
    return [tag for tag, _ in Elements(page).found]


def links_of(page: str) -> list[str]:
    """Return the files that a page links to or loads, except its own style and script."""
    assert "@import" not in page
    assert "url(" not in page
    values = (attributes.get(key) for _, attributes in Elements(page).found
              for key in ("src", "href", "data", "action"))  # fmt: skip
    return [value for value in values if value is not None and value != "data:,"]


FACTS = {"seed": 1, "models": {}, "datasets": {}, "conventions": [],
         "own": {"models": [], "datasets": [], "rooms": []}}  # fmt: skip
