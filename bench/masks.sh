#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Times the masks of cuttle and of the strongest other engines for grammars in turn. See bench/README.md.
# usage: bench/masks.sh setup          the peers, once, into the folder of bench/peers.sh
#        bench/masks.sh run [ROUNDS]   rounds of all sides (default 3), each alone on one processor; a table
#        bench/masks.sh                both
# CUTTLE_PEERS=FOLDER, CUTTLE_JOBS=N: as in bench/peers.sh. MASKS_PYTHON and MASKS_LLAMA name a Python that has the
# peers and a libllama.so; MASKS_CPU the processor (default 0).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
cache=${CUTTLE_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/cuttle-peers}
python=${MASKS_PYTHON:-$cache/venv-masks/bin/python}
llama=${MASKS_LLAMA:-$cache/llama/native/bin/libllama.so}
cd "$root"

setup() {
	"$here/peers.sh" step llama
	"$here/peers.sh" step masks
}

run() {
	models/fetch.sh
	make build/masks
	mkdir -p "$cache/masks"
	if [ ! -e "$cache/masks/qwen.gguf" ] && [ -e "$cache/masks/qwen.tiktoken" ]; then
		python3 bench/qwen_gguf.py "$cache/masks/qwen.tiktoken" "$cache/masks/qwen.gguf"
	fi
	local vocabs=(models/SmolLM2-135M-Instruct.Q4_1.gguf) vocab
	if [ -e "$cache/masks/qwen.gguf" ]; then vocabs+=("$cache/masks/qwen.gguf"); else
		echo "SKIPPED: the vocabulary of 152k: no $cache/masks/qwen.tiktoken; run bench/masks.sh setup" >&2
	fi
	for vocab in "${vocabs[@]}"; do
		build/masks draw "$vocab" tests/golden/prose.jsonl tools/samples/visit.schema.json bench/masks/*.schema.json bench/masks/*.gbnf \
			>"$cache/masks/drawn.json"
		taskset -c "${MASKS_CPU:-0}" python3 bench/masks.py "$vocab" "$cache/masks/drawn.json" "$python" "$llama" "${1:-3}"
	done
}

case ${1:-both} in
setup) setup ;;
run) run "${2-}" ;;
both)
	setup
	run 3
	;;
*)
	sed -n '4,6s/^# //p' "$0" >&2
	exit 2
	;;
esac
