# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the shell tests of the command share. Each test is a bash script that sources this file. It
# ends with exit code 0 when all is well; otherwise it prints FAILED and the reason.
# Environment: CUTTLE, CUTTLE_MODEL. CUTTLE_TEST_SHORT=1 takes the smallest sizes that can still
# fail, where kernels are slow. CUTTLE_TEST_NIGHTLY=1 takes the real model and more repetitions.
set -u
CUTTLE=$(realpath "${CUTTLE:-build/cuttle}")
CUTTLE_MODEL=$(realpath -m "${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}")
export CUTTLE_MODEL
# A receipt has the day on which its command began. With a fixed day, two receipts are equal even
# when midnight comes between them.
export SOURCE_DATE_EPOCH=1700000000
# bash makes \u00e9 a character only where a language is set, and a bare machine has none.
export LC_ALL=C.UTF-8
# generate forbids other processes to look into it, and that keeps the leak checker out, too.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}"
# A version manager's python3 is a script that looks for the program each time, and takes longer than that.
if [[ $(<"$0") == *python3* && $(head -c 2 "$(type -P python3)" 2>/dev/null) = '#!' ]]; then
	PATH=$(dirname "$(python3 -c 'import sys; print(sys.executable)')"):$PATH
fi
work=$(mktemp -d)
# A child that a signal ends before it has become a command must not take the folder with it.
trap '[ $BASHPID != $$ ] || rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
	echo "FAILED: ${0##*/}: $*"
	exit 1
}

need_model() {
	[ -r "$CUTTLE_MODEL" ] && return
	echo "skipped: ${0##*/}: there is no model (set CUTTLE_MODEL)"
	exit 0
}

# make_tiny [finite]: makes a tiny model, tiny.gguf. The program for it is built with the tests, so there
# is no reason to go without. Texts of hundreds of tokens need a finite one.
make_tiny() {
	"$(dirname "$CUTTLE")/tests/gen_tiny" tiny.gguf "$@" || fail "no tiny model: make tests"
}

# need_tiny [finite]: makes it, and all commands that follow use it.
need_tiny() {
	make_tiny "$@"
	export CUTTLE_MODEL=$PWD/tiny.gguf
}

# need_some_model: a tiny model, since nothing that the test promises depends on what a model writes;
# make test-nightly has the real one. What differs between them asks nightly.
need_some_model() { if nightly; then need_model; else need_tiny finite; fi; }

short() { [ -n "${CUTTLE_TEST_SHORT-}" ]; }
nightly() { [ -n "${CUTTLE_TEST_NIGHTLY-}" ]; }

# exits WANTED ARG...: runs cuttle, which must end with exit code WANTED. Its standard output goes
# to the file out, its standard error to the file err.
exits() {
	local wanted=$1
	shift
	"$CUTTLE" "$@" >out 2>err
	local code=$?
	[ $code = "$wanted" ] || fail "cuttle $*: exit $code instead of $wanted: $(cat err)"
}

# refused WANTED ARG...: like exits. cuttle must write one line on standard error and nothing else.
refused() {
	local lines
	exits "$@"
	mapfile lines <err # no process for each of thousands of refusals
	[[ ${#lines[@]} = 1 && ${lines[0]} = *$'\n' ]] || fail "cuttle ${*:2}: not one line of error: $(cat err)"
	[ ! -s out ] || fail "cuttle ${*:2}: output besides the error"
}

# soon COMMAND...: waits until that is true, up to a minute, the limit of a broken run; $pid is who should make it so, while it lives.
soon() {
	local end=$((SECONDS + 60)) polls=0
	until "$@" 2>/dev/null; do
		((SECONDS < end)) && kill -0 "$pid" 2>/dev/null || { "$@" 2>/dev/null; return; }
		((polls++ < 50)) || sleep 0.01
	done
}
# lines_in FILE COUNT: it has at least so many lines.
lines_in() {
	local lines
	[ -r "$1" ] && mapfile -t lines <"$1" && ((${#lines[@]} >= $2))
}

# interrupted SIGNAL FILE LINES ARG...: runs cuttle, and sends it the signal when FILE, of its output, has so many lines. $code is its end.
# Where others use the machine it may have come to its end before: then once more, from the beginning.
interrupted() {
	local signal=$1 file=$2 lines=$3 tries
	shift 3
	for ((tries = 0; tries < 100; tries++)); do
		rm -f "${file%%.*}".*
		"$CUTTLE" "$@" >out 2>err &
		pid=$!
		soon lines_in "$file" "$lines"
		kill -"$signal" $pid 2>/dev/null
		code=0
		wait $pid 2>/dev/null || code=$?
		[ $code = 0 ] || break
	done
	[ $code != 0 ] || fail "cuttle $* ends before $file has $lines lines: $(cat err)"
}

# coreless ARG...: cuttle must forbid core files before it reads the first record. Here it waits
# for records on standard input while the limit is read.
coreless() {
	local pid forbidden=
	mkfifo pipe
	"$CUTTLE" "$@" <pipe >out 2>err &
	pid=$!
	exec 9>pipe
	soon grep -q 'core file size  *0  *0 ' /proc/$pid/limits && forbidden=1
	exec 9>&-
	wait $pid
	[ $forbidden ] || fail "a crash of cuttle $* would write the references to disk"
}

# says FILE PATTERN: a line of the file matches the extended regular expression.
says() {
	grep -Eq -e "$2" "$1" || fail "$1 does not say $2: $(cat "$1")"
}

# same FILE FILE WHAT: the files have equal bytes; WHAT names the failure.
same() {
	cmp -s "$1" "$2" || fail "$3: $(head -c 300 "$1") instead of $(head -c 300 "$2")"
}

# indices FILE: prints the indices of its lines, as "0 1 2".
indices() {
	sed 's/^{"index":\([0-9]*\),.*/\1/' "$1" | paste -sd' '
}

# nothing_left NAME: no file of an unfinished run with the output NAME is there.
nothing_left() {
	local file
	for file in "$1"*; do
		case $file in *journal | *.key | *.lots | *.part* | *.tmp* | *.run) fail "left over: $file" ;; esac
	done
}

# edits_noticed RECEIPT: each line of standard input is a sed command that changes the receipt.
# receipt verify must refuse every changed receipt.
edits_noticed() {
	local edit
	while read -r edit; do
		sed "$edit" "$1" >edited.json
		cmp -s edited.json "$1" && fail "$edit changes nothing"
		"$CUTTLE" receipt verify edited.json >out 2>err
		case $? in 4 | 7) ;; *) fail "$edit is not noticed" ;; esac
	done
}

# hash_of FILE: prints its SHA-256.
hash_of() { sha256sum "$1" | cut -d' ' -f1; }

# references COUNT: writes COUNT short invented notes to refs.jsonl.
references() {
	local more=", a gardener, has coughed for a week. Lungs clear. Rest and fluids"
	short && more=
	for i in $(seq 1 "$1"); do echo "{\"text\":\"Patient $i$more.\"}"; done >refs.jsonl
}

# byte_letters: prints the 256 letters of byte-level BPE as JSON members with their ids. A printable
# byte is its own letter; the others have the letters from U+0100 on.
byte_letters() {
	local byte extra=256 letter
	for byte in {0..255}; do
		if ((byte >= 33 && byte <= 126 || byte >= 161 && byte <= 172 || byte >= 174)); then letter=$byte; else letter=$((extra++)); fi
		printf '"\\u%04x":%d,' "$letter" "$byte"
	done
}

# tensors [NAME SHAPE BYTES]...: prints these tensors as members of a safetensors header.
tensors() {
	local offset=0 comma=
	while [ $# -gt 0 ]; do
		printf '%s"%s.weight":{"dtype":"BF16","shape":[%s],"data_offsets":[%d,%d]}' "$comma" "$1" "$2" $offset $((offset += $3))
		comma=,
		shift 3
	done
}

# small_folder FOLDER: makes a Hugging Face folder with a one-layer model of zeros.
small_folder() {
	local layer=model.layers.0 header size
	mkdir "$1"
	printf '%s' '{"architectures":["LlamaForCausalLM"],"hidden_size":32,"intermediate_size":32,"num_hidden_layers":1,' \
		'"num_attention_heads":2,"max_position_embeddings":64,"rms_norm_eps":1e-5,"vocab_size":260,"tie_word_embeddings":true}' \
		>"$1/config.json"
	printf '%s' '{"pre_tokenizer":{"type":"ByteLevel","use_regex":true},"added_tokens":[{"id":256,"content":"<e>","special":true}],' \
		"\"model\":{\"type\":\"BPE\",\"merges\":[\"a b\"],\"vocab\":{$(byte_letters)\"ab\":257}}}" >"$1/tokenizer.json"
	echo '{"eos_token":"<e>","model_max_length":1000000000000000019884624838656}' >"$1/tokenizer_config.json"
	header="{$(tensors model.embed_tokens 260,32 16640 model.norm 32 64 \
		$layer.input_layernorm 32 64 $layer.post_attention_layernorm 32 64 \
		$layer.self_attn.q_proj 32,32 2048 $layer.self_attn.k_proj 32,32 2048 $layer.self_attn.v_proj 32,32 2048 \
		$layer.self_attn.o_proj 32,32 2048 $layer.mlp.gate_proj 32,32 2048 $layer.mlp.up_proj 32,32 2048 $layer.mlp.down_proj 32,32 2048)}"
	size=${#header}
	{
		printf '%b\0\0\0\0\0\0' "$(printf '\\x%02x\\x%02x' $((size & 255)) $((size >> 8)))"
		printf %s "$header"
		head -c 31168 /dev/zero
	} >"$1/model.safetensors"
}

# pace: writes pace.json, as `cuttle bench -o json` prints it. With it, a dry run need not measure,
# and prints the same each time.
pace() {
	echo '{"runs":[{"batch":7,"prompt":400,"prompt_tokens_per_s":1000,"rows_per_s":1000}]}' >pace.json
}

# in_mib MIB COMMAND...: what cuttle does with so much address space, at the same addresses each time. Leaves roomy.err.
in_mib() { (ulimit -v $(($1 << 10)) && exec setarch -R "$CUTTLE" "${@:2}" -t 1 >roomy.out 2>roomy.err); }

# roomy FILE COMMAND...: not by day. With the least memory that suffices where a record of FILE is null, to ten MiB, and two more, a record
# of 15 MB ends in the same code, and leaves files of the same names. FILE is a file of records that the command reads.
roomy() {
	local file=$1 mib code=0
	shift
	short && return
	nm "$CUTTLE" 2>/dev/null | grep -q __asan_init && return # it takes terabytes of address space
	setarch -R true 2>/dev/null || { echo "skipped in part: ${0##*/}: addresses are random here" && return; }
	cp "$file" roomy.kept
	echo null | cat - roomy.kept >"$file"
	for ((mib = 140; mib < 1000; mib += 10)); do
		in_mib $mib "$@" && break
		code=$?
	done
	[ $code = 8 ] && ((mib < 1000)) || fail "exit $code with $mib MiB: $(cat roomy.err)"
	ls >roomy.names
	{ printf '{"text":"' && yes 'lungs clear ' | head -c 15000000 | tr '\n' ' ' && echo '"}' && cat roomy.kept; } >"$file"
	in_mib $((mib + 2)) "$@" || fail "a long record decides the exit code, with $mib MiB: $(cat roomy.err)"
	same <(ls) roomy.names "files beside a long record"
	mv roomy.kept "$file"
	rm roomy.*
}

# one_less WHAT ARG...: runs cuttle in the folders one and two, whose refs.jsonl differ by WHAT. Names and modes of files and all that
# is said are the same, and the receipts but for one count, which is one less in two, and for hashes. Leaves one.texts and two.texts.
one_less() {
	local what=$1 world
	shift
	for world in one two; do
		cd $world || exit 1
		CUTTLE_MODEL=$PWD/../tiny.gguf exits 0 "$@" -o out.jsonl
		rm out
		stat -c '%n %a' ./* >../$world.files
		sed -E 's/"[0-9a-f]{64}"/"*"/' out.receipt.json >../$world.receipt
		cp err ../$world.err
		cp out.jsonl ../$world.texts
		cd ..
	done
	same one.files two.files "$what shows in files"
	same one.err two.err "$what shows in what is said"
	[ "$(diff one.receipt two.receipt | grep -c '^[<>]')" = 2 ] || fail "more than a count: $(diff one.receipt two.receipt)"
	diff one.receipt two.receipt | awk '/^</ { a = $2 + 0 } /^>/ { b = $2 + 0 } END { exit a != b + 1 }' ||
		fail "not one less: $(diff one.receipt two.receipt)"
}
