#!/bin/bash
# Sets up the strongest CPU engines in a cache folder outside the tree and runs them and cuttle in turn. See bench/README.md.
# usage: bench/peers.sh setup           everything below, once; a peer that cannot be set up is reported and left out
#        bench/peers.sh run [OPTION]... alternate rounds of all sides, a table, JSON (bench/compare.py --help)
#        bench/peers.sh                 both
# CUTTLE_PEERS=FOLDER (default ~/.cache/cuttle-peers), CUTTLE_JOBS=N compilers at once
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
cache=${CUTTLE_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/cuttle-peers}
jobs=${CUTTLE_JOBS:-$(nproc)}
model=$root/models/SmolLM2-135M-Instruct.Q4_1.gguf
export PIP_DISABLE_PIP_VERSION_CHECK=1 HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false

# A folder appears under its name only when it is complete.
finished() { [ -e "$cache/$1/complete" ]; }
finish() { touch "$cache/$1/complete"; }
begin() {
	rm -rf "${cache:?}/$1"
	mkdir -p "$cache/$1"
}

venv() { # name, PyTorch or none, packages
	finished "venv-$1" && return
	local name=venv-$1 torch=$2
	shift 2
	begin "$name"
	python3 -m venv "$cache/$name"
	: >"$cache/$name/constraints"
	# First and alone, then held: the torchvision that comes along with optimum would bring another, larger one.
	if [ "$torch" != none ]; then
		"$cache/$name/bin/python" -m pip install "$torch"
		"$cache/$name/bin/python" -m pip list --format freeze | grep '^torch=' >"$cache/$name/constraints"
	fi
	"$cache/$name/bin/python" -m pip install -c "$cache/$name/constraints" "$@"
	# The wheel of torchvision breaks the export, and nothing here needs it.
	"$cache/$name/bin/python" -m pip uninstall -y torchvision
	finish "$name"
}

step_ours() {
	"$root/models/fetch.sh"
	make -C "$root" build/cuttle build/make-random
	finished ours && return
	begin ours
	"$root/build/make-random" tinyllama q4_0 "$cache/ours/tinyllama.Q4_0.gguf"
	ln -s "$model" "$cache/ours/smollm2.Q4_1.gguf"
	local file
	for file in "$cache"/ours/*.gguf; do
		"$root/build/cuttle" tokenize -m "$file" -i "$root/tests/golden/prose.jsonl" |
			python3 "$here/make_prompts.py" "${file%%.Q*}.json"
	done
	finish ours
}

build_llama() { # folder, target, cmake options
	local folder=$cache/llama/$1 target=$2
	shift 2
	cmake -G Ninja -S "$cache"/llama/source/vendor/llama.cpp -B "$folder" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
		-DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF \
		-DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF "$@"
	cmake --build "$folder" -j "$jobs" --target "$target"
}

step_llama() {
	finished llama && return
	venv build none cmake ninja
	PATH=$cache/venv-build/bin:$PATH
	if [ ! -e "$cache/llama/source/complete" ]; then
		begin llama/source
		python3 -m pip download --no-deps --no-binary llama-cpp-python --dest "$cache/llama" llama-cpp-python==0.3.36
		tar -xzf "$cache"/llama/llama_cpp_python-*.tar.gz -C "$cache/llama/source" --strip-components=1
		finish llama/source
	fi
	# Without AMX, whose path in this release ends with an illegal instruction (tiles used on a thread that has not configured them).
	build_llama native llama-batched-bench -DGGML_NATIVE=ON -DCMAKE_C_FLAGS=-mno-amx-int8 -DCMAKE_CXX_FLAGS=-mno-amx-int8
	# Only ggml-cpu depends on the instruction set, so AVX2 is the same program over another libggml-cpu.so.
	build_llama avx2 ggml-cpu -DGGML_NATIVE=OFF -DGGML_SSE42=ON -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON
	finish llama
}

step_convert() {
	finished hf/smollm2 && finished hf/tinyllama && return
	venv convert torch==2.13.0 transformers==5.5.4 gguf==0.19.0 accelerate==1.15.0
	begin hf/smollm2
	"$cache/venv-convert/bin/python" "$here/gguf_to_hf.py" "$model" "$cache/hf/smollm2"
	finish hf/smollm2
	begin hf/tinyllama
	"$cache/venv-convert/bin/python" "$here/random_hf.py" "$cache/hf/smollm2" "$cache/hf/tinyllama"
	finish hf/tinyllama
}

step_openvino() {
	venv openvino torch==2.13.0 transformers==5.5.4 optimum-intel==2.2.0 nncf==3.4.0 openvino==2026.4.1 openvino-genai==2026.4.1.0
	local bits options
	for shape in smollm2 tinyllama; do
		for bits in int4 int8; do
			finished "openvino/$shape-$bits" && continue
			begin "openvino/$shape-$bits"
			options=()
			[ "$bits" = int8 ] || options=(--sym --group-size 64 --ratio 1.0)
			"$cache/venv-openvino/bin/optimum-cli" export openvino -m "$cache/hf/$shape" --task text-generation-with-past \
				--weight-format "$bits" "${options[@]}" "$cache/openvino/$shape-$bits"
			finish "openvino/$shape-$bits"
		done
	done
}

step_onnxruntime() {
	venv onnxruntime torch==2.13.0 transformers==5.5.4 onnxruntime-genai==0.18.0 onnx==1.23.2 onnx-ir
	for shape in smollm2 tinyllama; do
		finished "onnxruntime/$shape-int4" && continue
		begin "onnxruntime/$shape-int4"
		"$cache/venv-onnxruntime/bin/python" -m onnxruntime_genai.models.builder -i "$cache/hf/$shape" -o "$cache/onnxruntime/$shape-int4" \
			-p int4 -e cpu -c "$cache/onnxruntime/scratch" \
			--extra_options prune_lm_head=true is_symmetric=true block_size=64 accuracy_level=4
		rm -rf "$cache/onnxruntime/scratch"
		finish "onnxruntime/$shape-int4"
	done
}

# For bench/masks.sh: the engines for grammars, and Qwen's vocabulary, which another wheel has inside.
step_masks() {
	finished venv-masks && return
	venv masks none numpy llguidance==1.9.1 xgrammar==0.2.8
	begin masks
	python3 -m pip download --no-deps --dest "$cache/masks" dashscope==2.0.2
	unzip -jq "$cache"/masks/dashscope-*.whl dashscope/resources/qwen.tiktoken -d "$cache/masks"
}

setup() {
	mkdir -p "$cache/log"
	for step in ours llama convert openvino onnxruntime; do
		echo "peers: $step (log: $cache/log/$step)" >&2
		# Its own process, so that set -e holds inside.
		"$0" step "$step" >"$cache/log/$step" 2>&1 || echo "peers: $step failed and is left out; see $cache/log/$step" >&2
	done
}

compare() { python3 "$here/compare.py" --cache "$cache" --cuttle "$root/build/cuttle" "$@"; }

case ${1:-both} in
step) "step_$2" ;;
setup) setup ;;
run)
	shift
	compare "$@"
	;;
both)
	setup
	compare
	;;
*)
	sed -n '3,6s/^# //p' "$0" >&2
	exit 2
	;;
esac
