"""A disk so small that a test can fill it."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[1] / "workflow_scripts"


def on_small_disk(tmp_path: Path, options: str, script: str) -> str:
    """Run a Python script with its own tmpfs at `tmp_path`/disk, and return its output."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o {options} tmpfs {shlex.quote(str(disk))}"
    for namespace in (["unshare", "--user", "--map-root-user", "--mount"], ["unshare", "--mount"]):
        if subprocess.run([*namespace, "sh", "-c", mount], capture_output=True).returncode == 0:
            break
    else:
        pytest.skip("no tmpfs can be mounted here (neither in a user namespace nor as root)")
    (tmp_path / "script.py").write_text(script)
    run = shlex.join([sys.executable, str(tmp_path / "script.py"), str(disk), str(SCRIPTS)])
    done = subprocess.run(
        [*namespace, "sh", "-c", f"{mount} && {run}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
