#!/bin/sh
# Shows cuttle infer on invented texts. A second copy of the demo model stands in for the remote
# service, on this machine alone. What leaves is shown beside each text. A demo that was stopped
# continues.
# usage: demo-infer.sh CUTTLE MODEL LOOPBACK
set -eu
trap : INT
cuttle=$1 model=$2 loopback=$3
folder=demo/infer
mkdir -p "$folder"
[ -e "$folder/words.cw" ] || "$cuttle" words -m "$model" -o "$folder/words.cw"

rm -f "$folder/port"
"$loopback" "$model" "$folder/port" >"$folder/asked.txt" &
server=$!
trap 'kill $server 2>/dev/null || :' EXIT
while [ ! -s "$folder/port" ]; do
	kill -0 $server || exit 1
	sleep 0.1
done

again="rm -r $folder && make demo-infer begins anew"
if "$cuttle" infer --words "$folder/words.cw" -m "$model" -i tools/samples/questions.jsonl -e 10 -k 5 -N 40 \
	--endpoint "http://127.0.0.1:$(cat "$folder/port")/v1" --remote-model demo --remote-tokens 60 \
	-n 60 -o "$folder/answers.jsonl" --overwrite; then
	echo
else
	code=$?
	case $code in
	6) echo "make demo-infer continues where it stopped; $again" >&2 ;;
	2) echo "if $folder is of another version: $again" >&2 ;;
	esac
	exit $code
fi

python3 - "$folder" <<'PYTHON'
import json, shutil, sys, textwrap
def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
folder = sys.argv[1]
width = min(110, shutil.get_terminal_size((110, 24)).columns)
texts = read("tools/samples/questions.jsonl")
perturbed = read(folder + "/answers.perturbed.jsonl")
answers = read(folder + "/answers.jsonl")
def part(name, text):
    print(textwrap.fill(" ".join(text.split()), width, initial_indent="%-14s" % name, subsequent_indent=" " * 14))
for text, gone, answer in zip(texts, perturbed, answers):
    print()
    part("private text", text["text"])
    part("what leaves", gone["text"])
    part("final text", answer["text"])
with open(folder + "/answers.perturbed.receipt.json", encoding="utf-8") as file:
    print()
    print(textwrap.fill(json.load(file)["guarantee"], width))
PYTHON
echo
echo "final texts:  $folder/answers.jsonl (PRIVATE: it stays where the texts are)"
echo "what left:    $folder/asked.txt (what the remote side printed), $folder/answers.perturbed.jsonl"
echo "again:        $again"
