#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests what models/README says about a machine without network. It fails if a build, the demo or
# the tests need a package that `setup.sh download` does not fetch. It fails if anything reaches
# for the network once packages and model are in place. Commands that would do so are replaced by
# ones that report it. It fails too if the command is linked with a library for networks.
root=$(realpath "$(dirname "$0")/../..")
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"

# The only commands there are: those that scripts take for granted, and three that pretend.
mkdir commands
for name in sh env id mkdir rmdir dirname mktemp rm sha256sum sort tr cat; do
	ln -s "$(command -v "$name")" "commands/$name" || fail "there is no $name"
done
pretend() { # NAME SCRIPT
	printf '#!/bin/sh\n%s\n' "$2" >"commands/$1" && chmod +x "commands/$1"
}
alone() { PATH=$PWD/commands "$@" >out 2>err; }

# What is fetched, to whatever depth apt knows: nothing counts as installed.
pretend apt-get "printf '%s\n' \"\$@\" >>$PWD/asked"
alone "$root/setup.sh" download "some packages" || fail "setup.sh download: $(cat err)"
[ -d "some packages" ] || fail "there is no folder for the packages"
grep -qx 'Dir::State::status=/dev/null' asked || fail "what is installed here would be left out"
grep -qx -e '--download-only' asked || fail "downloading installs"
grep -qx "Dir::Cache::archives=$PWD/some packages" asked || fail "the packages go elsewhere: $(cat asked)"
sed '1,/^install$/d' asked >packages
[ "$(wc -l <packages)" -gt 10 ] || fail "hardly any packages: $(cat packages)"

# With exactly these installed every target has what it needs, and nobody calls apt-get or pip.
pretend dpkg-query "while read -r p; do [ \"\$p\" = \"\$4\" ] && printf installed; done <$PWD/packages; true"
pretend apt-get 'exit 99'
for target in check build demo test; do
	alone "$root/setup.sh" "$target" || fail "setup.sh $target lacks: $(cat err)"
	[ ! -s err ] || fail "setup.sh $target says: $(cat err)"
done
sed -i '/^libsqlite3-dev$/d' packages
alone "$root/setup.sh" check && fail "a package that is missing is not missed"
says err libsqlite3-dev

# A model that is there is checked, not fetched.
if [ -r "$root/models/SmolLM2-135M-Instruct.Q4_1.gguf" ]; then
	mkdir models
	ln -s "$root/models/SmolLM2-135M-Instruct.Q4_1.gguf" models/
	cp "$root/models/fetch.sh" models/
	pretend python3 'exit 99'
	alone models/fetch.sh || fail "fetch.sh fetches what is there: $(cat out err)"
	[ ! -s out ] || fail "fetch.sh fetches what is there: $(cat out)"
fi

# The loader tells what it loads when the command starts, whatever the verb.
LD_DEBUG=libs "$CUTTLE" --version >out 2>loaded || fail "cuttle --version: $(cat loaded)"
says loaded 'find library=libsodium\.'
grep -E 'find library=lib(curl|ssl|gnutls|nghttp2|ssh|microhttpd)' loaded && fail "cuttle loads a library for networks when it starts"

# models/README has no list of its own that could fall behind.
says "$root/models/README" '\./setup\.sh download packages'
grep -nE 'apt-get (download|install)|-dev' "$root/models/README" && fail "models/README lists packages itself"
exit 0
