#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the page of cuttle serve. It fails if the page has more than 68 KB, names another site, or has code that could make markup of
# a text. In Chromium, by tests/cli/page.py, it does a whole job, and an officer's day: approves, refuses, reads the audit trail and
# confirms the gap of a ledger that was put back; by keyboard alone, at 320 pixels, with hostile answers. It fails if the texts that
# were downloaded are not the command's bytes. Without Chromium it says so.
# CUTTLE_TEST_PICTURES=FOLDER keeps pictures of each view there.
here=$(realpath "$(dirname "$0")")
pictures=${CUTTLE_TEST_PICTURES:+$(realpath "$CUTTLE_TEST_PICTURES")}
# shellcheck source=/dev/null
. "$here/check.bash"
# shellcheck source=/dev/null
. "$here/server.bash"
page=$here/../../serve/page/page.html

[ "$(wc -c <"$page")" -le 69632 ] || fail "the page has $(wc -c <"$page") bytes"
grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function|srcdoc|localStorage|sessionStorage|document\.cookie' "$page" &&
	fail "the page can make markup of a text, or keeps something"
grep -nE '(https?:)?//[a-z]+\.|@import|url\(|<link|<img|<iframe| on[a-z]+="| style="' "$page" | grep -v 'http://www.w3.org/' && fail "the page fetches, or its policy would stop it"
[ "$(grep -c '^<script>$' "$page")$(grep -c '^<style>$' "$page")" = 11 ] || fail "the policy is made for one script and one style"

need_tiny finite
need_server
if ! command -v curl >/dev/null; then
	echo "skipped: page.sh: curl is not installed: ./setup.sh page"
	exit 0
fi
address=
runtime=$(mktemp -d /dev/shm/cuttle-XXXXXX)
make_keys
make_ledger
references 9
start_server log --listen 127.0.0.1:0 --keys keys --state state --runtime-dir "$runtime" --ledger ledger --insecure-seed 1

# Exactly this script and this style may run, and only this server may be asked; whoever asks needs no key for the page itself.
curl -sS -D raw -o got "$address/" || fail "no page"
same got "$page" "the page that is served"
tr -d '\r' <raw >headers
# hash_between TAG: SHA-256, in base64, of what stands between <TAG> and </TAG>.
hash_between() {
	local hex
	hex=$(sed -n "/^<$1>\$/,/^<\/$1>\$/p" got | sed '1s/.*//;$s/.*//' | head -c -1 | sha256sum | cut -c1-64)
	# shellcheck disable=SC2059,SC2001 # the format has the bytes
	printf "$(sed 's/../\\x&/g' <<<"$hex")" | base64
}
printf '%s' "default-src 'none'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; " \
	"script-src 'sha256-$(hash_between script)'; style-src 'sha256-$(hash_between style)'" >policy
sed -n 's/^Content-Security-Policy: //p' headers | head -c -1 >sent
same sent policy "the page's policy"
says headers '^Cache-Control: no-store$'
says headers '^X-Content-Type-Options: nosniff$'

if [ -z "${CUTTLE_TEST_CLIENTS-}" ] || ! command -v chromium >/dev/null || [ ! -x /usr/bin/chromedriver ] || ! /usr/bin/python3 -c 'import selenium' 2>/dev/null; then
	echo "skipped: page.sh: no browser looks at the page: ./setup.sh page installs one, CUTTLE_TEST_CLIENTS=1 runs it"
	exit 0
fi
# A second server, where officers approve: its ledger is put back while it runs.
page_address=$address
mkdir -m 700 "$runtime/office"
exits 0 ledger init --ledger office.db --dataset notes --epsilon-limit 20 --delta-limit 1e-6
exits 0 ledger backup --ledger office.db -o office-older.db
start_server office.log --listen 127.0.0.1:0 --keys keys --state office --runtime-dir "$runtime/office" --ledger office.db --approval --plain off
[ -z "$pictures" ] || ln -s "$pictures" shot
/usr/bin/python3 "$here/page.py" "$page_address" "$PWD" "$address" >page.log 2>&1 || fail "the page: $(cat page.log); the servers: $(tail -n 3 log; tail -n 3 office.log)"
cat page.log

# The same run by the command.
exits 0 generate -m "$CUTTLE_MODEL" -i - -o command.jsonl -N 3 -B 3 -e 5 --delta 1e-6 -n 16 --temperature 0.8 --kind "clinical note" \
	--text-field text --input-format jsonl --dataset notes --ledger ledger --insecure-seed 1 -q <refs.jsonl
same results.jsonl command.jsonl "the texts of a job through the page"
same receipt.json command.receipt.json "the receipt of a job through the page"
