#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the container image: an OCI layout, with an image for each architecture in one index.

usage: make_image.py FOLDER ARCHITECTURE=PACKAGES...
FOLDER: the layout, made anew. PACKAGES: a folder with the package cuttle of that architecture and
with Debian's packages of all that it needs. Example: make_image.py dist/oci amd64=build-oci/amd64

All files are those of packages: the command, the libraries that it is linked with or loads, found
by what they name as NEEDED, certificates, and what licences say of each. Nothing else is in it, so
no shell. The same packages make the same bytes: one order, and SOURCE_DATE_EPOCH, else the
command's date, as the only time.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path, PurePosixPath
from typing import Any, Dict, List, Set, Tuple

USER = 65532  # nobody on usual systems; whoever mounts a folder gives it to this number
COMMAND = "usr/bin/cuttle"
# What the command loads when it has to: it names these and no path.
LOADED = ["libcurl.so.4", "libgnutls.so.30", "libmicrohttpd.so.12", "libcrypto.so.3"]
BUNDLE = "etc/ssl/certs/ca-certificates.crt"
STATUS = "var/lib/dpkg/status.d"
HEALTH = {
    "Test": ["CMD", "/usr/bin/cuttle", "serve", "health"],
    "Interval": 30 * 10**9,
    "Timeout": 10 * 10**9,
    "StartPeriod": 60 * 10**9,
    "Retries": 3,
}
TYPES = "application/vnd.oci.image."


class Package:
    """A .deb: what it says of itself, and its files by their path after usr is merged."""

    def __init__(self, path: Path) -> None:
        self.control = run("dpkg-deb", "-f", str(path)).decode()
        self.name, self.version = self.field("Package"), self.field("Version")
        self.files: Dict[str, Tuple[tarfile.TarInfo, bytes]] = {}
        with tarfile.open(
            fileobj=io.BytesIO(run("dpkg-deb", "--fsys-tarfile", str(path)))
        ) as archive:
            for entry in archive:
                name = re.sub(r"^(bin|sbin|lib|lib64)/", r"usr/\1/", entry.name.lstrip("./"))
                source = archive.extractfile(entry) if entry.isfile() else None
                if source or entry.issym():
                    self.files[name] = (entry, source.read() if source else b"")

    def field(self, name: str) -> str:
        found = re.findall(rf"^{name}: (.*)$", self.control, re.M)
        return found[0] if found else ""


class Root:
    """Files of the image: path to kind, mode, owner and content, and which package has it."""

    def __init__(self, packages: List[Package]) -> None:
        self.packages = {package.name: package for package in packages}
        self.owners = {name: package for package in packages for name in package.files}
        self.by_name: Dict[str, List[str]] = {}
        for name in sorted(self.owners):
            self.by_name.setdefault(PurePosixPath(name).name, []).append(name)
        self.taken: Set[str] = set()

    def content(self, name: str) -> bytes:
        return self.owners[name].files[name][1]

    def take(self, name: str) -> str:
        """Takes a file, and the links on the way to it. Returns the file."""
        while True:
            if name not in self.owners:
                # A folder on the way may be a link, as usr/share/doc/libgcc-s1 to gcc-12-base.
                for parent in PurePosixPath(name).parents:
                    if str(parent) in self.owners:
                        rest = PurePosixPath(name).relative_to(parent)
                        name = str(PurePosixPath(self.take_link(str(parent))) / rest)
                        break
                else:
                    raise SystemExit(f"make_image.py: no package has {name}")
            elif self.owners[name].files[name][0].issym():
                name = self.take_link(name)
            else:
                self.taken.add(name)
                return name

    def take_link(self, name: str) -> str:
        self.taken.add(name)
        target = self.owners[name].files[name][0].linkname
        whole = os.path.normpath(os.path.join("/", PurePosixPath(name).parent, target)).lstrip("/")
        return re.sub(r"^(bin|sbin|lib|lib64)/", r"usr/\1/", whole)

    def take_programs(self, name: str, loaded: List[str]) -> None:
        """Takes a program, its loader and its libraries, and what those need."""
        waiting, seen = [name], set(loaded)
        for soname in loaded:
            waiting.append(self.find_library(soname))
        while waiting:
            path = self.take(waiting.pop())
            with tempfile.NamedTemporaryFile() as file:
                file.write(self.content(path))
                file.flush()
                said = run("readelf", "-dlW", file.name).decode()
            for loader in re.findall(r"interpreter: /([^]]*)\]", said):
                waiting.append(re.sub(r"^(lib|lib64)/", r"usr/\1/", loader))
            for soname in re.findall(r"\(NEEDED\).*\[(.*)\]", said):
                if soname not in seen:
                    seen.add(soname)
                    waiting.append(self.find_library(soname))

    def find_library(self, soname: str) -> str:
        places = [
            name
            for name in self.by_name.get(soname, [])
            if re.fullmatch(r"usr/lib/[^/]*-linux-gnu/[^/]*", name)
        ]
        if len(places) != 1:
            raise SystemExit(f"make_image.py: {soname} is in {places or 'no package'}")
        return places[0]

    def take_notices(self) -> None:
        """What each package says of its licences, and the texts that it refers to."""
        done: Set[str] = set()
        while True:
            owners = {self.owners[name].name for name in self.taken} - done
            if not owners:
                return
            for package in sorted(owners):
                done.add(package)
                notice = self.content(self.take(f"usr/share/doc/{package}/copyright"))
                for text in re.findall(
                    rb"/usr/share/common-licenses/([A-Za-z]+(?:[-.0-9]*[0-9])?)", notice
                ):
                    self.take(f"usr/share/common-licenses/{text.decode()}")


def run(*words: str) -> bytes:
    return subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout


def layer(entries: Dict[str, Tuple[tarfile.TarInfo, bytes]], moment: int) -> bytes:
    """A tar of the entries and of the folders above them, in one order."""
    folders = {str(parent) for name in entries for parent in PurePosixPath(name).parents} - {"."}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(folders | set(entries)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            content = b""
            if name in entries:
                given, content = entries[name]
                entry.type, entry.mode, entry.linkname = given.type, given.mode, given.linkname
                entry.uid = entry.gid = given.uid
            entry.size, entry.mtime = len(content), moment
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def made(content: bytes, mode: int = 0o644) -> Tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo()
    entry.mode = mode
    return entry, content


def made_folder(mode: int, owner: int) -> Tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo()
    entry.type, entry.mode, entry.uid = tarfile.DIRTYPE, mode, owner
    return entry, b""


def made_link(target: str) -> Tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo()
    entry.type, entry.mode, entry.linkname = tarfile.SYMTYPE, 0o777, target
    return entry, b""


def package_entries(root: Root, package: Package) -> Dict[str, Tuple[tarfile.TarInfo, bytes]]:
    """Its files that were taken, and what it says of itself, where scanners look for it."""
    names = sorted(name for name in root.taken if root.owners[name] is package)
    entries = {}
    for name in names:
        entry, content = package.files[name]
        entry.mode, entry.uid = (entry.mode & 0o755) if entry.isfile() else 0o777, 0
        entries[name] = (entry, content)
    sums = "".join(
        f"{hashlib.md5(package.files[name][1]).hexdigest()}  {name}\n"
        for name in names
        if package.files[name][0].isfile()
    )
    entries[f"{STATUS}/{package.name}"] = made(package.control.encode())
    entries[f"{STATUS}/{package.name}.md5sums"] = made(sums.encode())
    return entries


def image_layers(packages: List[Package], moment: int) -> List[Tuple[str, bytes]]:
    """The libraries, which seldom change, and over them the command."""
    root = Root(packages)
    root.take_programs(COMMAND, LOADED)
    root.take("etc/os-release")
    authorities = [name for name in sorted(root.owners) if "/ca-certificates/mozilla/" in name]
    root.take_notices()
    notice = "usr/share/doc/ca-certificates/copyright"
    bundle = b"".join(root.content(name) for name in authorities)
    assert bundle.count(b"BEGIN CERTIFICATE") > 100, "the bundle of certificates is short"
    root.take(notice)
    root.take_notices()
    below = {
        "etc/passwd": made(
            b"root:x:0:0:root:/:/usr/sbin/nologin\n"
            + f"cuttle:x:{USER}:{USER}:cuttle:/work:/usr/sbin/nologin\n".encode()
        ),
        "etc/group": made(f"root:x:0:\ncuttle:x:{USER}:\n".encode()),
        "etc/nsswitch.conf": made(b"passwd: files\ngroup: files\nhosts: files dns\n"),
        BUNDLE: made(bundle),
        "tmp": made_folder(0o1777, 0),
        "work": made_folder(0o700, USER),
        "var/lib/cuttle": made_folder(0o700, USER),
        **{
            name: made_link(f"usr/{name}")
            for name in ("bin", "lib", "lib64")
            if any(taken.startswith(f"usr/{name}/") for taken in root.taken)
        },
    }
    command: Dict[str, Tuple[tarfile.TarInfo, bytes]] = {}
    for package in packages:
        if any(root.owners[name] is package for name in root.taken):
            (command if package.name == "cuttle" else below).update(package_entries(root, package))
    return [
        ("Debian's libraries, certificates and licences", layer(below, moment)),
        ("the command of the Debian package cuttle", layer(command, moment)),
    ]


class Layout:
    """An OCI layout: blobs named by their hashes, and index.json."""

    def __init__(self, folder: Path) -> None:
        self.blobs = folder / "blobs" / "sha256"
        self.blobs.mkdir(parents=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')

    def add(self, content: bytes, kind: str, **more: Any) -> Dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (self.blobs / digest).write_bytes(content)
        return {
            "mediaType": TYPES + kind,
            "digest": f"sha256:{digest}",
            "size": len(content),
            **more,
        }

    def add_json(self, value: Any, kind: str, **more: Any) -> Dict[str, Any]:
        return self.add(json.dumps(value, separators=(",", ":")).encode(), kind, **more)


def add_image(layout: Layout, arch: str, packages: List[Package], moment: int) -> Dict[str, Any]:
    version = next(package.version for package in packages if package.name == "cuttle")
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
    layers = image_layers(packages, moment)
    platform = {
        "architecture": arch,
        "os": "linux",
        **({"variant": "v8"} if arch == "arm64" else {}),
    }
    config = {
        "created": created,
        **platform,
        "config": {
            "User": f"{USER}:{USER}",
            "Env": ["PATH=/usr/bin"],
            "Entrypoint": ["/usr/bin/cuttle"],
            "Cmd": ["help"],
            "WorkingDir": "/work",
            "StopSignal": "SIGTERM",
            "Healthcheck": HEALTH,
            "Labels": {
                "org.opencontainers.image.title": "cuttle",
                "org.opencontainers.image.description": "private text from sensitive documents, "
                "under differential privacy",
                "org.opencontainers.image.version": version,
            },
        },
        "rootfs": {
            "type": "layers",
            "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}" for _, content in layers],
        },
        "history": [{"created": created, "created_by": about} for about, _ in layers],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": TYPES + "manifest.v1+json",
        "config": layout.add_json(config, "config.v1+json"),
        "layers": [
            layout.add(gzip.compress(content, 9, mtime=0), "layer.v1.tar+gzip")
            for _, content in layers
        ],
    }
    return layout.add_json(manifest, "manifest.v1+json", platform=platform)


def main() -> None:
    if len(sys.argv) < 3 or not all("=" in word for word in sys.argv[2:]):
        raise SystemExit("usage: make_image.py FOLDER ARCHITECTURE=PACKAGES...")
    folder = Path(sys.argv[1])
    scratch = folder.with_name(folder.name + ".new")
    shutil.rmtree(scratch, ignore_errors=True)
    layout, images, version = Layout(scratch), [], ""
    changes = str(Path(__file__).resolve().parent.parent / "debian/changelog")
    moment = int(
        os.environ.get("SOURCE_DATE_EPOCH")
        or run("dpkg-parsechangelog", "-l", changes, "-S", "Timestamp")
    )
    for word in sys.argv[2:]:
        arch, _, place = word.partition("=")
        packages = [Package(path) for path in sorted(Path(place).rglob("*.deb"))]
        images.append(add_image(layout, arch, packages, moment))
        version = next(package.version for package in packages if package.name == "cuttle")
    index = {"schemaVersion": 2, "mediaType": TYPES + "index.v1+json", "manifests": images}
    named = {"org.opencontainers.image.ref.name": version.split("-")[0]}
    top = layout.add_json(index, "index.v1+json", annotations=named)
    (scratch / "index.json").write_text(
        json.dumps({"schemaVersion": 2, "mediaType": TYPES + "index.v1+json", "manifests": [top]})
    )
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(scratch, folder)
    print(top["digest"])


if __name__ == "__main__":
    main()
