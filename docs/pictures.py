"""Copy the pictures of README from the results of a demo.

python docs/pictures.py RESULTS
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Files of the results, by the picture that shows them.
PICTURES = {"report/example.png": "morcela/figure_2.png"}


def copy_pictures(results: Path, root: Path = ROOT) -> list[Path]:
    """Copy each picture from a folder of results to the project, and return the copies."""
    return [
        Path(shutil.copyfile(results / source, root / picture))
        for picture, source in PICTURES.items()
    ]


if __name__ == "__main__":
    copy_pictures(Path(sys.argv[1]))
