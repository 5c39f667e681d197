#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wheel: the module, the command as its script, the manual and completions, licences.

usage: make_wheel.py --command FILE --helper FILE --platform TAG [--strip PROGRAM] FOLDER
--command: the static program that goes in. --helper: the same for this machine, which prints the
verbs and pages. --platform: manylinux_2_17_x86_64. Prints the wheel's path.

The same inputs make the same bytes: entries in one order, with SOURCE_DATE_EPOCH as their time
(without it, 1980) and fixed modes. The tag's 2_17 speaks of glibc, and a static program has its own: what is
left of it is the kernel, Linux 3.17 or newer.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Dict, List, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NAME = "cuttle_dp"
SHELLS = {
    "bash": "bash-completion/completions/cuttle",
    "zsh": "zsh/site-functions/_cuttle",
    "fish": "fish/vendor_completions.d/cuttle.fish",
}
# Debian's packages of what the static program holds, with what their licences say.
INSIDE = [
    "libc6",
    "libjansson-dev",
    "libcsv-dev",
    "libsodium-dev",
    "libsqlite3-dev",
    "libutf8proc-dev",
    "libgcc-s1",
]


def ask(helper: str, *arguments: str) -> bytes:
    return subprocess.run([helper, "help", *arguments], stdout=subprocess.PIPE, check=True).stdout


def module_files(helper: str) -> Dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, NAME)
        shutil.copytree(HERE / NAME, made, ignore=shutil.ignore_patterns("__pycache__"))
        catalog = Path(folder, "catalog.json")
        catalog.write_bytes(ask(helper, "--json"))
        subprocess.run(
            ["python3", str(HERE / "make_verbs.py"), str(catalog), str(made)], check=True
        )
        return {
            f"{NAME}/{path.name}": path.read_bytes() for path in made.iterdir() if path.is_file()
        }


def stripped(command: str, program: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "cuttle")
        # The build's id follows from paths of debug data, which is not in here.
        subprocess.run(
            [program, "-s", "-R", ".note.gnu.build-id", "-R", ".comment", "-o", str(out), command],
            check=True,
        )
        return out.read_bytes()


def metadata(version: str, licences: List[str]) -> bytes:
    lines = [
        "Metadata-Version: 2.4",
        "Name: cuttle-dp",
        f"Version: {version}",
        "Summary: New texts that read like your private ones, under differential privacy, on ordinary CPUs",
        "License-Expression: Apache-2.0",
        *[f"License-File: {name}" for name in licences],
        "Keywords: differential privacy,synthetic data,text,anonymization",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: C",
        "Classifier: Programming Language :: Python :: 3",
        "Classifier: Typing :: Typed",
        "Requires-Python: >=3.9",
        "Description-Content-Type: text/markdown",
        "",
        (ROOT / "docs/PYTHON.md").read_text(encoding="utf-8"),
    ]
    return "\n".join(lines).encode()


def wheel_files(options: argparse.Namespace, version: str) -> List[Tuple[str, bytes, int]]:
    """Names, contents and modes, in the order of the archive."""
    data, info = f"{NAME}-{version}.data", f"{NAME}-{version}.dist-info"
    files = [
        (name, content, 0o644) for name, content in sorted(module_files(options.helper).items())
    ]
    command = stripped(options.command, options.strip)
    assert command[:4] == b"\x7fELF" and b"/ld-linux" not in command, "the command is not static"
    files.append((f"{data}/scripts/cuttle", command, 0o755))
    pages = {"cuttle.1": ask(options.helper, "--mdoc")}
    for verb in ask(options.helper, "--verbs").decode().split():
        pages[f"cuttle-{verb}.1"] = ask(options.helper, "--mdoc", verb)
    files += [
        (f"{data}/data/share/man/man1/{name}", page, 0o644) for name, page in sorted(pages.items())
    ]
    for shell, name in sorted(SHELLS.items()):
        files.append(
            (f"{data}/data/share/{name}", ask(options.helper, "--completion", shell), 0o644)
        )
    licences = {"LICENSE": (ROOT / "LICENSE").read_bytes()}
    for package in INSIDE:
        says = Path(options.licences, package, "copyright")
        licences[f"inside/{package}"] = says.read_bytes()
    # Those refer to the texts of the GPL, the LGPL and others that each Debian system has.
    for notice in list(licences.values()):
        for text in re.findall(
            rb"/usr/share/common-licenses/([A-Za-z]+(?:[-.0-9]*[0-9])?)", notice
        ):
            name = text.decode()
            licences[f"inside/common-licenses/{name}"] = Path(options.texts, name).read_bytes()
    files.append((f"{info}/METADATA", metadata(version, sorted(licences)), 0o644))
    tag = f"Wheel-Version: 1.0\nGenerator: cuttle\nRoot-Is-Purelib: false\nTag: py3-none-{options.platform}\n"
    files.append((f"{info}/WHEEL", tag.encode(), 0o644))
    files += [
        (f"{info}/licenses/{name}", content, 0o644) for name, content in sorted(licences.items())
    ]
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},{len(content)}\n"
        for name, content, _ in files
    )
    files.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), 0o644))
    return files


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--helper", required=True)
    parser.add_argument("--platform", required=True)
    parser.add_argument("--strip", default="strip")
    parser.add_argument("--licences", default="/usr/share/doc")
    parser.add_argument("--texts", default="/usr/share/common-licenses")
    parser.add_argument("folder")
    options = parser.parse_args()
    header = (ROOT / "engine/cuttle/status.h").read_text(encoding="utf-8")
    version = re.findall(r'^.define CUTTLE_VERSION "(.*)"$', header, re.M)[0]
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]
    path = Path(options.folder, f"{NAME}-{version}-py3-none-{options.platform}.whl")
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".new")
    with zipfile.ZipFile(scratch, "w") as archive:
        for name, content, mode in wheel_files(options, version):
            entry = zipfile.ZipInfo(name, moment)
            entry.create_system = 3  # Unix, whose modes these are
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)
    os.replace(scratch, path)
    print(path)


if __name__ == "__main__":
    main()
