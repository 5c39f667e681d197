#!/bin/sh
# Installs the Debian packages that a target needs. Where it may not, it prints the command.
# usage: ./setup.sh check|build|demo|test|arm|musl|ci|proofs|protocol|prove|deb|oci|wheel|page|cluster
# check installs nothing: it names the packages that a build lacks.
# usage: ./setup.sh download FOLDER
# It fetches the packages of `test` and all that they need, for a machine without network. It also
# fetches those that are installed here: that machine may lack them.
set -eu
needed="gcc make libc6-dev libjansson-dev libcsv-dev libsodium-dev libsqlite3-dev libutf8proc-dev"
build="$needed libopenblas-dev libcurl4-openssl-dev libmicrohttpd-dev libgnutls28-dev"
model="python3 python3-pip ca-certificates"
case "${1:-build}" in
check) wanted=$needed ;;
build) wanted=$build ;;
demo) wanted="$build $model" ;;
test | download) wanted="$build $model g++ libcmocka-dev" ;;
arm) wanted="$needed gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" ;;
musl) wanted="gcc make libc6-dev linux-libc-dev musl-tools" ;;
ci) wanted="$build $model g++ libcmocka-dev clang clang-format clang-tidy libclang-rt-dev shellcheck git" ;;
proofs) wanted="coq make patch" ;;
protocol) wanted="spin gcc libc6-dev patch" ;;
wheel) wanted="$build python3 python3-pip python3-venv ca-certificates strace" ;;
deb) wanted="$build debhelper dpkg-dev blhc" ;;
oci) wanted="$build debhelper dpkg-dev python3 python3-pip python3-venv python3-yaml skopeo runc" ;;
page) wanted="$build python3-pip curl chromium chromium-driver python3-selenium fonts-dejavu-core" ;;
cluster) wanted="$build slurmctld slurmd slurm-client openmpi-bin mpich parallel python3-yaml" ;;
prove) wanted="frama-c-base why3 z3 cvc4 gcc patch" ;;
*) echo "usage: $0 check|build|demo|test|arm|musl|ci|proofs|protocol|prove|deb|oci|wheel|page|cluster, or $0 download FOLDER" >&2; exit 2 ;;
esac

if [ "${1:-}" = download ]; then
	[ -n "${2:-}" ] || { echo "usage: $0 download FOLDER" >&2; exit 2; }
	mkdir -p "$2/partial"
	# With an empty status file no package counts as installed. So apt fetches all that these need.
	# shellcheck disable=SC2086
	apt-get -o Dir::State::status=/dev/null -o Dir::Cache::archives="$(cd "$2" && pwd)" -o Debug::NoLocking=1 -y -qq \
		--no-install-recommends --download-only install $wanted
	rmdir "$2/partial"
	exit 0
fi

if ! command -v dpkg-query >/dev/null; then
	echo "setup: this is no Debian system; make sure these are there: $wanted" >&2
	exit 0
fi
missing=
for package in $wanted; do
	# A tool counts as installed even when it did not come from its package.
	case $package in
	python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null && continue ;;
	python3-pip) python3 -m pip --version >/dev/null 2>&1 && continue ;;
	gcc | g++ | make | python3 | spin | strace | clang | clang-format | clang-tidy | shellcheck | git) command -v "$package" >/dev/null && continue ;;
	esac
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=none
	[ "$state" = installed ] || missing="$missing $package"
done
# Clients of the server that Debian lacks come from PyPI, into a folder of their own. Tests leave out what is not there.
target=${1:-build}
fetch_clients() {
	[ "$target" = page ] || return 0
	folder=${CUTTLE_CLIENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/cuttle-clients}
	PYTHONPATH=$folder /usr/bin/python3 -c 'import openai, axe_core_python' 2>/dev/null && return
	echo "setup: installing openai and axe-core-python in $folder"
	/usr/bin/python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --upgrade --target "$folder" \
		openai axe-core-python || echo "setup: PyPI has not given them" >&2
}
[ -n "$missing" ] || { fetch_clients && exit 0; }

become=
[ "$(id -u)" = 0 ] || become="sudo"
if [ "${1:-build}" = check ] || { [ -n "$become" ] && ! sudo -n true 2>/dev/null && ! [ -t 0 ]; }; then
	echo "setup: missing packages:$missing" >&2
	echo "setup: install them with: ${become:+$become }apt-get install -y$missing" >&2
	exit 1
fi
echo "setup: installing$missing"
$become env DEBIAN_FRONTEND=noninteractive apt-get update -qq
# shellcheck disable=SC2086
$become env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fetch_clients
