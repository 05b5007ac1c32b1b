"""What a real browser makes of a page, at a width that a window may be too wide for."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
MISSING = "no Chromium or Chrome on the path"
# A browser's window is no narrower than 500 pixels; a frame may be.
FRAME = """<!DOCTYPE html><meta name="color-scheme" content="light dark"><body>
<iframe style="border: 0" width="{width}" height="800" srcdoc="{page}"></iframe></body>"""


def laid_out(page: str, measure: str, width: int, folder: Path, dark: bool = False) -> Any:
    """Return what a script's expression is in a page that is so many pixels wide."""
    script = f"<script>parent.document.body.dataset.found = JSON.stringify({measure});</script>"
    path = folder / "page.html"
    page = page.replace("</body>", f"{script}</body>")
    path.write_text(FRAME.format(width=width, page=html.escape(page)))
    theme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", theme, "--dump-dom",
               f"--user-data-dir={folder / 'profile'}", "--window-size=1500,900"]  # fmt: skip
    done = subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))
