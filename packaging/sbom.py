#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the list of what is inside a wheel, an image or Debian packages, as SPDX 2.3 in JSON.

usage: sbom.py wheel FILE.whl MAP [PACKAGES]   MAP: the linker's map of its command
       sbom.py image LAYOUT ARCHITECTURE
       sbom.py debs FILE.deb...
It prints the list. Everything in it is read from the finished file: names and hashes of all files,
and what packages say of themselves. Of a wheel's command it is the linker's map that says which
libraries are inside; the machine knows their packages, or PACKAGES, as tests/arm_libraries.sh makes
it, does. The same file makes the same bytes: SOURCE_DATE_EPOCH, else the command's date, is the
only time.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
# The licence of what is inside, by Debian's source package, as its file copyright says of the
# library itself. Parts of a source have others: the file copyright has all.
LICENCES = {
    "base-files": "GPL-2.0-or-later",
    "brotli": "MIT",
    "ca-certificates": "MPL-2.0",
    "cross-toolchain-base": "LGPL-2.1-or-later",
    "curl": "curl",
    "cuttle": "Apache-2.0",
    "cyrus-sasl2": "BSD-4-Clause",
    "e2fsprogs": "MIT",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "gcc-12-cross": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "gmp": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "gnutls28": "LGPL-2.1-or-later",
    "jansson": "MIT",
    "keyutils": "LGPL-2.0-or-later",
    "krb5": "MIT",
    "libcsv": "LGPL-2.1-or-later",
    "libffi": "MIT",
    "libidn2": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libmicrohttpd": "LGPL-2.1-or-later",
    "libpsl": "MIT",
    "libsodium": "ISC",
    "libssh2": "BSD-3-Clause",
    "libtasn1-6": "LGPL-2.1-or-later",
    "libunistring": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "nettle": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "nghttp2": "MIT",
    "openldap": "OLDAP-2.8",
    "openssl": "Apache-2.0",
    "p11-kit": "BSD-3-Clause",
    "rtmpdump": "LGPL-2.1-or-later",
    "sqlite3": "blessing",
    "utf8proc": "MIT AND Unicode-DFS-2015",
    "zlib": "Zlib",
}
STATUS = "var/lib/dpkg/status.d/"


class Control(NamedTuple):
    """What a Debian package says of itself."""

    name: str
    version: str
    architecture: str
    source: str
    source_version: str
    depends: str

    @staticmethod
    def read(text: str) -> Control:
        fields: Dict[str, str] = dict(re.findall(r"^([A-Za-z-]+): *(.*)$", text, re.M))
        # "Source: libidn2 (2.3.3-1)" where the versions differ.
        said = re.match(r"(\S+)(?: \((.*)\))?", fields.get("Source", fields["Package"]))
        assert said
        return Control(
            fields["Package"],
            fields["Version"],
            fields["Architecture"],
            said[1],
            said[2] or fields["Version"],
            fields.get("Depends", ""),
        )


class Document:
    """An SPDX document that grows by packages, files and what they are to each other."""

    def __init__(self, name: str, sha256: str) -> None:
        changes = ["dpkg-parsechangelog", "-l", str(ROOT / "debian/changelog"), "-S", "Timestamp"]
        moment = int(os.environ.get("SOURCE_DATE_EPOCH") or run(*changes))
        self.packages: List[Dict[str, Any]] = []
        self.files: List[Dict[str, Any]] = []
        self.relations: List[Dict[str, str]] = []
        self.root = {
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": name,
            "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{sha256}",
            "creationInfo": {
                "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)),
                "creators": ["Organization: cuttle maintainers", "Tool: packaging/sbom.py"],
            },
        }

    def relate(self, one: str, how: str, other: str) -> None:
        self.relations.append(
            {"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other}
        )

    def add_package(
        self, name: str, version: str, licence: str, files: Dict[str, bytes], **more: Any
    ) -> str:
        """A package with all its files; without any, nothing is said of them."""
        identity = f"SPDXRef-package-{clean(name)}"
        package = {
            "SPDXID": identity,
            "name": name,
            "versionInfo": version,
            "supplier": "Organization: Debian",
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": bool(files),
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence,
            "copyrightText": "NOASSERTION",
            **more,
        }
        self.packages.append(package)
        sums = []
        for path, content in sorted(files.items()):
            sums.append(hashlib.sha1(content, usedforsecurity=False).hexdigest())
            self.relate(identity, "CONTAINS", self.add_file(path, content))
        if files:
            # SPDX 2.3, 7.9, says which hash: it names the files, and protects nothing.
            code = hashlib.sha1("".join(sorted(sums)).encode(), usedforsecurity=False)
            package["packageVerificationCode"] = {"packageVerificationCodeValue": code.hexdigest()}
            package["licenseInfoFromFiles"] = ["NOASSERTION"]
        return identity

    def add_file(self, path: str, content: bytes) -> str:
        identity = f"SPDXRef-file-{len(self.files)}"
        self.files.append(
            {
                "SPDXID": identity,
                "fileName": f"./{path}",
                "checksums": checksums(content),
                "licenseConcluded": "NOASSERTION",
                "licenseInfoInFiles": ["NOASSERTION"],
                "copyrightText": "NOASSERTION",
            }
        )
        return identity

    def add_debian(self, control: Control, files: Dict[str, bytes], notice: str) -> str:
        if control.source not in LICENCES:
            raise SystemExit(f"sbom.py: LICENCES lacks {control.source}: read what {notice} says")
        more: Dict[str, Any] = {}
        if control.source == "cuttle":
            more["supplier"] = "Organization: cuttle maintainers"
        if notice:
            more["licenseComments"] = f"All notices: {notice}"
        return self.add_package(
            control.name,
            control.version,
            LICENCES[control.source],
            files,
            sourceInfo=f"built from the Debian source package {control.source} "
            f"{control.source_version}",
            externalRefs=[
                {
                    "referenceCategory": "PACKAGE-MANAGER",
                    "referenceType": "purl",
                    "referenceLocator": f"pkg:deb/debian/{control.name}@"
                    f"{control.version.replace('+', '%2B')}?arch={control.architecture}",
                }
            ],
            **more,
        )

    def write(self) -> None:
        whole = {
            **self.root,
            "packages": self.packages,
            "files": self.files,
            "relationships": self.relations,
        }
        print(json.dumps(whole, indent=1))


def run(*words: str) -> str:
    return subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout


def clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "-", name)


def checksums(content: bytes) -> List[Dict[str, str]]:
    return [
        {"algorithm": name.upper(), "checksumValue": hashlib.new(name, content).hexdigest()}
        for name in ("sha1", "sha256")
    ]


def tar_files(data: bytes) -> Iterator[Tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for entry in archive:
            source = archive.extractfile(entry) if entry.isfile() else None
            if source:
                yield entry.name[2:] if entry.name.startswith("./") else entry.name, source.read()


# ---- a wheel ----------------------------------------------------------------------------------


def linked_packages(map_file: str, folder: Optional[str]) -> List[Control]:
    """The packages of all objects that the linker took from outside the tree."""
    said = Path(map_file).read_text(encoding="utf-8", errors="replace")
    # "/usr/lib/libcsv.a(libcsv.o)" for a member of a library, "LOAD /usr/lib/crt1.o" for an object.
    paths = set(re.findall(r"^(/\S+\.a)\(", said, re.M))
    paths |= set(re.findall(r"^LOAD (/\S+\.o)$", said, re.M))
    found = {}
    ours = os.path.realpath(Path(map_file).parent) + "/"
    for path in sorted({os.path.realpath(path) for path in paths}):
        if path.startswith(ours):
            continue
        inside = path.partition("/root/usr/")[2]
        if folder and inside:
            places = list(Path(folder).glob(f"*/usr/{inside}"))
            assert len(places) == 1, f"{path} is in {places or 'no package'}"
            package = str(places[0]).removesuffix(f"/usr/{inside}")
            text = Path(package, "DEBIAN/control").read_text(encoding="utf-8")
        else:
            owner = run("dpkg", "-S", path).partition(": ")[0]
            text = run("dpkg-query", "-s", owner)
        control = Control.read(text)
        found[control.name] = control
    assert found, f"{map_file} names no library: is it the linker's map?"
    return [control for _, control in sorted(found.items())]


def list_wheel(wheel: str, map_file: str, folder: Optional[str]) -> Document:
    data = Path(wheel).read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sha256 = hashlib.sha256(data).hexdigest()
    document = Document(Path(wheel).name, sha256)
    top = document.add_package(
        "cuttle-dp",
        Path(wheel).name.split("-")[1],
        "Apache-2.0",
        files,
        supplier="Organization: cuttle maintainers",
        packageFileName=Path(wheel).name,
        checksums=[{"algorithm": "SHA256", "checksumValue": sha256}],
    )
    document.relate("SPDXRef-DOCUMENT", "DESCRIBES", top)
    command = next(f for f in document.files if f["fileName"].endswith("/scripts/cuttle"))
    for control in linked_packages(map_file, folder):
        inside = document.add_debian(control, {}, "licenses/inside in the wheel's dist-info")
        document.relate(str(command["SPDXID"]), "STATIC_LINK", inside)
    return document


# ---- an image ---------------------------------------------------------------------------------


def read_image(layout: Path, arch: str) -> Tuple[str, Dict[str, bytes]]:
    """The digest of the image's manifest, and all its files."""

    def blob(descriptor: Dict[str, Any]) -> bytes:
        content: bytes = (layout / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" == descriptor["digest"]
        return content

    index = json.loads(blob(json.loads((layout / "index.json").read_bytes())["manifests"][0]))
    ours = [one for one in index["manifests"] if one["platform"]["architecture"] == arch]
    assert len(ours) == 1, f"{layout} has {len(ours)} images for {arch}"
    files: Dict[str, bytes] = {}
    for layer in json.loads(blob(ours[0]))["layers"]:
        files.update(tar_files(blob(layer)))
    return ours[0]["digest"], files


def list_image(layout: str, arch: str) -> Document:
    digest, files = read_image(Path(layout), arch)
    status = {name: text for name, text in files.items() if name.startswith(STATUS)}
    left = dict(files)
    packages = []
    for name, text in sorted(status.items()):
        if name.endswith(".md5sums"):
            continue
        sums = status[f"{name}.md5sums"].decode().splitlines()
        own = {path: left.pop(path) for path in (line[34:] for line in sums)}
        packages.append((Control.read(text.decode()), own))
    version = next(control.version for control, _ in packages if control.name == "cuttle")
    sha256 = digest.partition(":")[2]
    document = Document(f"cuttle-image-{version}-{arch}", sha256)
    top = document.add_package(
        "cuttle-image",
        version,
        "NOASSERTION",
        left,
        supplier="Organization: cuttle maintainers",
        checksums=[{"algorithm": "SHA256", "checksumValue": sha256}],
        comment=f"The container image for linux/{arch}; its checksum is its manifest's digest.",
    )
    document.relate("SPDXRef-DOCUMENT", "DESCRIBES", top)
    for control, own in packages:
        notice = f"usr/share/doc/{control.name}/copyright in the image"
        document.relate(top, "CONTAINS", document.add_debian(control, own, notice))
    return document


# ---- Debian packages --------------------------------------------------------------------------


def list_debs(paths: List[str]) -> Document:
    contents = {Path(path).name: Path(path).read_bytes() for path in paths}
    together = hashlib.sha256(b"".join(hashlib.sha256(c).digest() for c in contents.values()))
    controls = {path: Control.read(run("dpkg-deb", "-f", path)) for path in paths}
    one = controls[paths[0]]
    document = Document(f"{one.source}_{one.version}_{one.architecture}", together.hexdigest())
    ours = {control.name: f"SPDXRef-package-{clean(control.name)}" for control in controls.values()}
    needed: Dict[str, str] = {}
    for path in paths:
        control = controls[path]
        out = subprocess.run(
            ["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE, check=True
        )
        top = document.add_debian(
            control, dict(tar_files(out.stdout)), f"usr/share/doc/{control.name}/copyright in it"
        )
        document.packages[-1]["packageFileName"] = Path(path).name
        document.packages[-1]["checksums"] = checksums(contents[Path(path).name])
        document.relate("SPDXRef-DOCUMENT", "DESCRIBES", top)
        for wanted in filter(None, re.split(r", *", control.depends)):
            name, _, range_ = wanted.partition(" ")
            needed.setdefault(name, range_)
            document.relate(top, "DEPENDS_ON", ours.get(name, f"SPDXRef-package-{clean(name)}"))
    # These are not inside: whoever installs the packages has them from Debian, in some version.
    for name, range_ in sorted(needed.items()):
        if name not in ours:
            document.add_package(name, "NOASSERTION", "NOASSERTION", {}, comment=f"needed {range_}")
            del document.packages[-1]["versionInfo"]
    return document


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["wheel"] and len(words) in (3, 4):
        list_wheel(words[1], words[2], words[3] if len(words) == 4 else None).write()
    elif words[:1] == ["image"] and len(words) == 3:
        list_image(words[1], words[2]).write()
    elif words[:1] == ["debs"] and len(words) > 1:
        list_debs(sorted(words[1:])).write()
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
