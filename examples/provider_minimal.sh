#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The protocol of openconduit-provider(7) without the SDK: a JSON-RPC message a line on descriptors 0 and 1.  As
# provider_minimal.c it confines nothing, says so, and no run can start under it.
#
# It reads two members with sed and no JSON at all, which is only enough because in this protocol "id" and "method"
# are keys nowhere but at the top, and a quote inside a string is always written \".  A provider that acts on its
# parameters needs a real parser.
#
#   install -m 755 provider_minimal.sh DIR/open-conduit-provider-minimal
set -u

say()
{
	printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"
}

ready=
while IFS= read -r line; do
	id=$(printf '%s\n' "$line" | sed -n 's/^.*"id": *\([0-9][0-9]*\)[,}].*$/\1/p')
	method=$(printf '%s\n' "$line" | sed -n 's/^.*"method": *"\([a-z_]*\)".*$/\1/p')
	[ -n "$id" ] && [ -n "$method" ] || exit 1
	case $ready$method in
	initialize)
		say '"result":{"protocol":1,"name":"minimal","version":"1","kind":"sandbox","methods":["check","plan","inspect","cleanup"]}'
		ready=+
		;;
	+check)
		say '"result":{"identity":{"minimal":"1"},"checks":[{"id":"confines","title":"it confines runs","ok":false,"detail":"this example confines nothing","fix":"use a provider that confines, such as srt","ms":0}]}'
		;;
	+plan)
		say '"error":{"code":-32000,"message":"this example confines nothing","data":{"reason":"sandbox_unavailable","subject":"minimal","message":"this example confines nothing","fix":"use a provider that confines, such as srt","code":-6,"errno":0,"more":[]}}'
		;;
	+inspect) say '"result":{"state":"none"}' ;;
	+cleanup) say '"result":{}' ;;
	*) say '"error":{"code":-32601,"message":"there is no such method now"}' ;;
	esac
done
