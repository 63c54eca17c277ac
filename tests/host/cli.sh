#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What open-conduit says and how it ends: usage, exit statuses, JSON, escapes, closed and full outputs, signals.
# As an ordinary user, against a build folder:  OC_BUILD=build tests/host/cli.sh
# Most of it runs --unsandboxed, since the sandbox is not the subject; with OC_SRT, what is about it runs under srt.
# shellcheck disable=SC2016,SC2094 # commands for other shells; files that are only read
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/tap.sh
. "$here/../lib/tap.sh"
[ "$(id -u)" != 0 ] || { echo 'not ok - host: needs an ordinary user'; exit 1; }
build=$(cd "${OC_BUILD:?the build folder}" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/oc-host.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/home" "$work/ws"
cd "$work/ws" || exit 1
export HOME=$work/home OPEN_CONDUIT_LIBEXEC=$build/libexec LANG=C.UTF-8 TERM=xterm
export PATH=$build/host:$PATH
unset XDG_STATE_HOME XDG_CONFIG_HOME OPEN_CONDUIT_PROVIDER_DIR NO_COLOR LC_ALL
[ -z "${OC_SRT:-}" ] || export OPEN_CONDUIT_SRT=$OC_SRT

# gives STATUS COMMAND…: sets $out and $err; true when that is its exit status.
gives()
{
	local want=$1 got
	shift
	"$@" >"$work/out" 2>"$work/err" </dev/null
	got=$?
	out=$(tr -d '\0' <"$work/out")
	err=$(tr -d '\0' <"$work/err")
	[ "$got" = "$want" ] || { printf '    status %s, not %s\n%s\n' "$got" "$want" "$err" | head -n 20; return 1; }
}

# says NAME STATUS TEXT COMMAND…: that status, and TEXT on standard error.
says()
{
	local name=$1 status=$2 text=$3
	shift 3
	if gives "$status" "$@" && [[ $err == *"$text"* ]]; then
		ok "$name"
	else
		printf '    said: %s\n' "$err" | head -n 12
		not_ok "$name"
	fi
}

# json NAME STATUS EXPRESSION COMMAND…: standard output is one JSON object j with version 1, of which EXPRESSION holds.
json()
{
	local name=$1 status=$2 expression=$3
	shift 3
	if gives "$status" "$@" && python3 -c '
import json, sys
with open(sys.argv[1]) as f: j = json.load(f)
assert isinstance(j, dict) and j["version"] == 1
assert eval(sys.argv[2]), j' "$work/out" "$expression" 2>"$work/why"; then
		ok "$name"
	else
		tail -n 1 "$work/why" | cut -c1-600
		not_ok "$name"
	fi
}

plain() { open-conduit exec --unsandboxed -- "$@"; }

# ---- usage ----
says 'usage: nothing' 2 'usage: open-conduit COMMAND' open-conduit
says 'usage: a misspelt command' 2 'did you mean "exec"?' open-conduit exce
says 'usage: a command like no other' 2 'there is no command "zzzzzz"' open-conduit zzzzzz
says 'usage: a misspelt option' 2 'did you mean --allow?' open-conduit exec --alow x -- true
says 'usage: a misspelt command of runs' 2 'did you mean "list"?' open-conduit runs lsit
says 'usage: a missing value' 2 '--write needs a value' open-conduit exec --write
says 'usage: a value that looks like an option' 2 '--write=--json' open-conduit exec --write --json -- true
says 'usage: a value for a switch' 2 '--json takes no value' open-conduit runs list --json=1
says 'usage: no command' 2 'there is no command to run' open-conduit exec --allow x
says 'usage: two sandboxes' 2 'choose one of' open-conduit exec --sandbox srt --unsandboxed -- true
says 'usage: a grant that would not hold' 2 'would not hold' open-conduit exec --unsandboxed --write x -- true
says 'usage: a policy and more' 2 'the whole policy' open-conduit exec --policy x --allow y -- true
says 'usage: no time' 2 'is no time' open-conduit exec --unsandboxed --timeout 5x -- true
says 'usage: a secret as an argument' 2 'a value is never an argument' open-conduit exec --unsandboxed --secret A=hunter2 -- true
if [[ $err == *hunter2* ]]; then not_ok 'usage: the secret is not repeated'; else ok 'usage: the secret is not repeated'; fi
says 'usage: no question' 2 'ask something' open-conduit explain --policy x
says 'usage: which run' 2 'which run' open-conduit runs get
says 'usage: which binding' 2 'which binding' open-conduit run
says 'usage: which Work' 2 'which Work' open-conduit work show
says 'usage: a misspelt command of work' 2 'did you mean "exec"?' open-conduit work exce
says 'usage: no command for a Work' 2 'no command to run' open-conduit work exec 1 --
says 'work: there is no such' 1 'there is no Work' open-conduit work show nothing
for c in '' exec doctor explain provider runs 'runs list' 'runs get' 'runs logs' 'runs stop' receipt 'receipt verify' 'provider list' config 'config check' 'config schema' run work 'work list' 'work show' 'work exec' 'work attach' 'work finish'; do
	# shellcheck disable=SC2086 # words
	if gives 0 open-conduit $c --help && [[ $out == usage:* && -z $err ]]; then ok "help: $c"; else not_ok "help: $c"; fi
done
if gives 0 open-conduit --version && [[ $out =~ ^open-conduit\ [0-9]+\.[0-9]+\.[0-9]+$ ]]; then ok version; else not_ok version; fi
# What the options do must not be read out of the command's own words.
if gives 0 plain echo --json -v --help && [ "$out" = '--json -v --help' ]; then ok 'exec: the command keeps its options'; else not_ok 'exec: the command keeps its options'; fi

# ---- statuses and streams of exec ----
says 'exec: the status passes' 7 '' plain sh -c 'exit 7'
says 'exec: a signal' 137 '' plain sh -c 'kill -9 $$'
says 'exec: a timeout' 124 'timeout' open-conduit exec --unsandboxed --timeout 300ms -- sleep 20
says 'exec: not found' 127 'was not found' plain no-such-program
touch file
says 'exec: not executable' 126 'not executable' plain ./file
says 'exec: limits are refused' 125 'sandbox_config' open-conduit exec --memory 1g -- true
says 'exec: a clone of no repository is refused' 125 'sandbox_workspace' open-conduit exec --clone -- true
says 'run: without a config' 125 'config' open-conduit run a/b
says 'exec: an image by its name alone is refused' 125 'sandbox_config' open-conduit exec --container x -- true
says 'exec: an unknown sandbox' 125 'fix' open-conduit exec --sandbox nosuch -- true
if gives 3 plain sh -c 'echo one; echo two >&2; exit 3' && [ "$out" = one ] && [ "$err" = two ]; then ok 'exec: streams apart'; else not_ok 'exec: streams apart'; fi
head -c 3000000 /dev/urandom >"$work/bytes"
if plain cat <"$work/bytes" 2>/dev/null | cmp -s - "$work/bytes"; then ok 'exec: 3 MB there and back, exact'; else not_ok 'exec: 3 MB there and back, exact'; fi
if plain head -c 100001 <"$work/bytes" 2>/dev/null | cmp -s - "$work/bytes"; then not_ok 'exec: control: a part is not the whole'; else ok 'exec: control: a part is not the whole'; fi
if [ "$(yes | plain head -n 1)" = y ]; then ok 'exec: a command that does not read its input'; else not_ok 'exec: a command that does not read its input'; fi
if gives 0 env X=from-here W=hunter2-and-3 open-conduit exec --unsandboxed --env X --env Y=z --secret X2=env:W -- \
	sh -c '[ "$X2" = hunter2-and-3 ] && echo "$X $Y $X2"' && [ "$out" = 'from-here z [secret X2]' ]; then ok 'exec: variables and a secret arrive'; else not_ok "exec: variables and a secret arrive: $out"; fi
printf 'canary-%s\n' $$ >"$work/secret"
chmod 644 "$work/secret"
says 'exec: a secret that others can read' 125 'chmod 600' open-conduit exec --unsandboxed --secret "S=file:$work/secret" -- true
chmod 600 "$work/secret"
# shellcheck disable=SC2016 # for the command
if gives 0 open-conduit exec --unsandboxed --secret "S=file:$work/secret" -- sh -c 'printf %s "$S" | sha256sum | cut -c1-64' &&
	[ "$out" = "$(printf 'canary-%s' $$ | sha256sum | cut -c1-64)" ]; then ok 'exec: a secret from a file'; else not_ok 'exec: a secret from a file'; fi
# Not in base64 either, at any of its three alignments.
if grep -rqaE "canary-$$|Y2FuYXJ5L|NhbmFyeS|jYW5hcnkt" "$HOME/.local/state"; then not_ok 'exec: the secret is on no disk'; else ok 'exec: the secret is on no disk'; fi
plain echo "canary-$$" >"$work/out"
if grep -rqa "canary-$$" "$HOME/.local/state"; then ok 'exec: control: what is printed is found there'; else not_ok 'exec: control: what is printed is found there'; fi
says 'exec: a secret that is not there' 125 'secret_missing' open-conduit exec --unsandboxed --secret NOT_SET_AT_ALL -- true

# ---- facts ----
json 'json: runs list' 0 'len(j["runs"]) == 5 and {"id","kind","state","reason","status","signal","created","ended","command"} <= set(j["runs"][0])' open-conduit runs list --json -n 5
id=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["runs"][0]["id"])' "$work/out")
json 'json: runs get' 0 "j['run']['id'] == '$id' and j['run']['kind'] == 'none' and j['run']['pinned'] is True and j['run']['exit']['digest'] == j['run']['digest']" open-conduit runs get --json "$id"
json 'json: runs get, by its beginning' 0 "j['run']['id'] == '$id'" open-conduit runs get --json "${id:0:9}"
json 'json: no such run' 1 'j["error"]["code"] == -9' open-conduit runs get --json zzzzzzzz
json 'json: stop of a run that is over' 0 "j['stopped'] is False and j['state'] == 'exited'" open-conduit runs stop --json "$id"
json 'json: exec' 4 'j["exit_status"] == 4 and j["record"]["state"] == "exited" and j["error"] is None' open-conduit exec --unsandboxed --json -- sh -c 'echo x; exit 4'
if [ "$err" = x ]; then ok 'json: exec: the output is on stderr'; else not_ok 'json: exec: the output is on stderr'; fi
json 'json: exec refused' 125 'j["error"]["reason"] == "sandbox_config" and j["error"]["fix"]' open-conduit exec --json --memory 1g -- true
json 'json: provider list' 0 '"srt" in [p["name"] for p in j["providers"] if p["usable"]]' open-conduit provider list --json
mkdir -p "$work/providers"
printf '#!/bin/sh\n' >"$work/providers/open-conduit-provider-loose"
chmod 777 "$work/providers/open-conduit-provider-loose"
json 'json: a provider that others can change' 0 '[p["why"] for p in j["providers"] if p["name"] == "loose"][0]' env OPEN_CONDUIT_PROVIDER_DIR="$work/providers" open-conduit provider list --json
if gives 0 open-conduit runs get "$id" && [[ $out == *UNSANDBOXED* && $out == *sha256:* ]]; then ok 'runs get: says that nothing confined it'; else not_ok 'runs get: says that nothing confined it'; fi
says 'runs get: what is no id' 1 'fix' open-conduit runs get ../../etc
if gives 0 open-conduit runs list && [ "$(wc -l <"$work/out")" -gt 5 ]; then ok 'runs list: as text'; else not_ok 'runs list: as text'; fi
# A command whose words would forge a line or drive a terminal.
plain true "$(printf 'a\nfffffffffffff  2026-01-01 00:00:00  sandbox\033]0;x\007')" >/dev/null 2>&1
gives 0 open-conduit runs list
if [[ $out != *$'\033'* && $out == *'a\nffff'* ]] && ! grep -q '^ffff' "$work/out"; then ok 'runs list: a word with a newline stays in its line'; else not_ok 'runs list: a word with a newline stays in its line'; fi
plain sh -c 'echo out; echo err >&2' >/dev/null 2>&1
last=$(open-conduit runs list --json -n 1 | python3 -c 'import json,sys; print(json.load(sys.stdin)["runs"][0]["id"])')
if gives 0 open-conduit runs logs "$last" && [ "$out" = out ] && [ "$err" = err ]; then ok 'runs logs: both streams'; else not_ok 'runs logs: both streams'; fi
if gives 0 open-conduit runs logs -f "$last" && [ "$out" = out ]; then ok 'runs logs -f: ends when the run has'; else not_ok 'runs logs -f: ends when the run has'; fi

# ---- explain ----
printf '{"write":["{workspace}"],"read":{"deny":["/srv"]},"network":{"allow":["example.org:443"]}}' >"$work/policy.json"
mkdir -p "$HOME/.ssh"
touch "$HOME/.ssh/id"
json 'explain: write in the workspace' 0 'j["answers"][0]["rule"] == "write[0]"' open-conduit explain --json --policy "$work/policy.json" --write x
json 'explain: a default deny' 1 'j["allowed"] is False and j["answers"][0]["rule"] == "default" and j["answers"][0]["allow_line"]' open-conduit explain --json --policy "$work/policy.json" --read "$HOME/.ssh/id"
json 'explain: ~/' 1 'j["answers"][0]["resolved"].endswith("/home/.ssh/id")' open-conduit explain --json --policy "$work/policy.json" --read=~/.ssh/id
json 'explain: several, one refused' 1 '[a["allowed"] for a in j["answers"]] == [True, False]' open-conduit explain --json --policy "$work/policy.json" --host example.org:443 --host example.org:80
says 'explain: a policy that is none' 1 'sandbox_config' open-conduit explain --policy "$work/secret" --read /
says 'explain: no file' 1 'sandbox_config' open-conduit explain --policy "$work/none.json" --read /
if gives 1 open-conduit explain --policy "$work/policy.json" --read /srv/x && [[ $out == refused* && $out == *'read.deny[0]'* ]]; then ok 'explain: as text'; else not_ok 'explain: as text'; fi
# A policy which the run could write would be the next run's.
cp "$work/policy.json" "$work/ws/policy.json"
says 'exec: a policy from the workspace' 125 'decide how the next run' open-conduit exec --policy policy.json -- true
ln -s "$work/policy.json" "$work/ws/link.json"
says 'exec: a link to a policy in the workspace' 125 'decide how the next run' open-conduit exec --policy link.json -- true

mkdir -p "$work/safe" "$work/ws/sub"
cp "$work/policy.json" "$work/safe/p.json"
ln -s "$work/safe" "$work/ws/sub/dir"
says 'exec: a policy behind a linked directory in the workspace' 125 'decide how the next run' open-conduit exec --policy "$work/ws/sub/dir/p.json" -- true
ln -s "$work/ws/sub/dir/p.json" "$work/safe/round.json"
says 'exec: a link elsewhere that leads through the workspace' 125 'decide how the next run' open-conduit exec --policy "$work/safe/round.json" -- true

# ---- outputs ----
says 'output: a full disk' 1 'No space left' sh -c 'open-conduit runs list >/dev/full'
says 'output: a full disk, JSON' 1 'No space left' sh -c 'open-conduit runs list --json >/dev/full'
says 'output: a full disk, exec' 125 'No space left' sh -c 'open-conduit exec --unsandboxed -- echo x >/dev/full'
says 'output: closed' 1 'standard output' sh -c 'open-conduit runs list >&-'
if gives 0 sh -c 'open-conduit exec --unsandboxed -- echo x 2>&-' && [ "$out" = x ]; then ok 'output: a closed stderr'; else not_ok 'output: a closed stderr'; fi
if gives 0 sh -c 'open-conduit exec --unsandboxed -- cat <&-'; then ok 'output: a closed stdin'; else not_ok 'output: a closed stdin'; fi
if gives 0 bash -c 'open-conduit exec --unsandboxed -- yes | head -n 1; [ "${PIPESTATUS[0]}" = 141 ]' && [ -z "$err" ]; then ok 'output: a reader that goes, exec'; else not_ok 'output: a reader that goes, exec'; fi
if gives 0 bash -c 'open-conduit runs get --json "$1" | true; [ "${PIPESTATUS[0]}" = 141 ] || [ "${PIPESTATUS[0]}" = 0 ]' - "$id" && [ -z "$err" ]; then ok 'output: a reader that goes, quietly'; else not_ok 'output: a reader that goes, quietly'; fi
if gives 0 env LC_ALL=C TERM=dumb COLUMNS=20 open-conduit runs list; then ok 'output: another locale, a poor terminal'; else not_ok 'output: another locale, a poor terminal'; fi
if gives 0 env -u HOME XDG_STATE_HOME="$work/state" XDG_CONFIG_HOME="$work/config" open-conduit runs list; then ok 'state: without HOME'; else ok "state: without HOME it is said: ${err%%$'\n'*}"; fi
mkdir -p "$work/open/open-conduit"
chmod 755 "$work/open/open-conduit"
says 'state: a directory that others can read' 1 'fix' env XDG_STATE_HOME="$work/open" open-conduit runs list

# ---- under srt ----
if [ -n "${OC_SRT:-}" ]; then
	json 'doctor' 0 'j["ok"] is True and all(c["ok"] for s in j["sandboxes"] for c in s["checks"])' open-conduit doctor --json
	json 'doctor: control: without srt' 1 'j["ok"] is False' env OPEN_CONDUIT_SRT=/nonexistent open-conduit doctor --json
	says 'exec: under srt, the status passes' 5 '' open-conduit exec -- sh -c 'touch here && ! touch "$HOME/there" 2>/dev/null && exit 5'
	if [ -e here ] && [ ! -e "$HOME/there" ]; then ok 'exec: under srt, what it wrote'; else not_ok 'exec: under srt, what it wrote'; fi
	says 'exec: under srt, control: a policy from elsewhere' 0 '' open-conduit exec --policy "$work/policy.json" -- touch allowed
	json 'exec: under srt, the record' 0 'j["record"]["state"] == "exited"' open-conduit exec --json -- true
	last=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["run"])' "$work/out")
	json 'runs get: under srt, proved' 0 'j["run"]["proved"] and len(j["run"]["probes"]) > 20 and all(p["ok"] for p in j["run"]["probes"])' open-conduit runs get --json "$last"
	if gives 0 open-conduit runs get "$last" && [[ $out == *'proved      yes'* && $out == *'policy as written'* && $out == *'provider'* ]]; then ok 'runs get: under srt, as text'; else not_ok 'runs get: under srt, as text'; fi
	gives 3 sh -c 'echo given | "$1"/examples/embed_poll sh -c "cat; exit 3" && exit 3' - "$build"
	if [[ $out == given*'"state":"exited","status":3'* ]]; then ok 'embed_poll: under srt'; else not_ok "embed_poll: under srt: $err"; fi
else
	skip 'host: doctor, exec and embed_poll under srt' 'OC_SRT names no srt'
fi
python3 "$here/live.py" || oc_failed=1
finish
