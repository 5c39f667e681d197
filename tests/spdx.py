#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at lists of what is inside (packaging/sbom.py): what SPDX 2.3 wants of one is there.

usage: spdx.py FILE...
It fails if a required member is missing, an id stands twice, a relation leads nowhere, a package's
code is not that of its files, or something is in none. What the specification says of members is in
its chapters 6 (document), 7 (package), 8 (file) and 11 (relationships).
"""

import hashlib
import json
import re
import sys

DOCUMENT = ["spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"]
PACKAGE = ["SPDXID", "name", "downloadLocation", "filesAnalyzed"]
FILE = ["SPDXID", "fileName", "checksums"]
LENGTHS = {"SHA1": 40, "SHA256": 64}


def look(path: str) -> str:
    with open(path, encoding="utf-8") as source:
        root = json.load(source)
    assert root["spdxVersion"] == "SPDX-2.3" and root["dataLicense"] == "CC0-1.0"
    assert root["SPDXID"] == "SPDXRef-DOCUMENT" and "#" not in root["documentNamespace"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", root["creationInfo"]["created"])
    assert all(
        re.match(r"(Person|Organization|Tool): .", c) for c in root["creationInfo"]["creators"]
    )
    for member, things in ((DOCUMENT, [root]), (PACKAGE, root["packages"]), (FILE, root["files"])):
        for thing in things:
            lacks = [name for name in member if name not in thing]
            assert not lacks, f"{thing.get('SPDXID')} lacks {lacks}"
    named = [thing["SPDXID"] for thing in [root, *root["packages"], *root["files"]]]
    assert len(set(named)) == len(named), "an id stands twice"
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in named)
    for thing in [*root["packages"], *root["files"]]:
        for sum_ in thing.get("checksums", []):
            assert re.fullmatch(f"[0-9a-f]{{{LENGTHS[sum_['algorithm']]}}}", sum_["checksumValue"])
    sha1 = {
        file["SPDXID"]: sum_["checksumValue"]
        for file in root["files"]
        for sum_ in file["checksums"]
        if sum_["algorithm"] == "SHA1"
    }
    assert len(sha1) == len(root["files"]), "a file has no SHA-1"
    contained = {}
    for relation in root["relationships"]:
        one, other = relation["spdxElementId"], relation["relatedSpdxElement"]
        assert one in named and other in named, f"{one} or {other} is not there"
        contained.setdefault(other, []).append((one, relation["relationshipType"]))
    for name in named[1:]:
        assert name in contained, f"{name} is in nothing"
    for package in root["packages"]:
        own = [
            sha1[file]
            for file, by in contained.items()
            if file in sha1 and (package["SPDXID"], "CONTAINS") in by
        ]
        assert bool(own) == package["filesAnalyzed"]
        if own:
            code = hashlib.sha1("".join(sorted(own)).encode(), usedforsecurity=False).hexdigest()
            told = package["packageVerificationCode"]["packageVerificationCodeValue"]
            assert told == code, f"{package['name']}: another code"
    return f"{len(root['packages'])} packages, {len(root['files'])} files"


for given in sys.argv[1:]:
    try:
        print(f"{given}: {look(given)}")
    except (AssertionError, KeyError) as error:
        sys.exit(f"{given}: {error!r}")
