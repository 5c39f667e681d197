#!/bin/sh
# Does the main job on this machine: writes private clinical notes from the invented notes of this
# repository. A demo that was stopped continues. A complete one is shown again.
# usage: demo.sh CUTTLE MODEL
set -eu
# Ctrl-C stops the run, but not this script: it says how to go on.
trap : INT
cuttle=$1 model=$2
folder=demo
mkdir -p "$folder"
# The references are invented, so drawing from them twice harms nobody.
again="rm -r $folder && make demo draws new ones"
# Which wards there are is public here; which one a note is from stays private.
wards=chronic,children,community,senses,surgery,medicine,emergency,heart,mind,maternity

if "$cuttle" generate -m "$model" -i tools/samples/notes.jsonl -o "$folder/notes.jsonl" --public-examples tools/samples/public.jsonl \
	--kind "clinical note" --category-field ward --categories "$wards" -e 3 --delta 1e-6 -B 15 -N 8 -n 96 --temperature 0.8 -k 50; then
	echo
else
	code=$?
	case $code in
	6) echo "make demo continues where it stopped; $again" >&2 ;;
	2) echo "if $folder is of another version: $again" >&2 ;;
	esac
	exit $code
fi

echo "Clinical notes, each written from some 15 notes of one ward in tools/samples/notes.jsonl, none of which may show through:"
python3 - "$folder/notes.jsonl" <<'PYTHON'
import json, sys, textwrap
for line in open(sys.argv[1], encoding="utf-8"):
    note = json.loads(line)
    print()
    print(textwrap.fill(note["text"], 110, initial_indent="  %d. %s: " % (note["index"] + 1, note["ward"]), subsequent_indent="     "))
receipt = json.load(open(sys.argv[1].replace(".jsonl", ".receipt.json"), encoding="utf-8"))
print()
print(textwrap.fill(receipt["guarantee"], 110))
PYTHON
echo
echo "texts:   $folder/notes.jsonl"
echo "receipt: $folder/notes.receipt.json (what was spent, on what, by what)"
echo "again:   $again"
