# SPDX-License-Identifier: Apache-2.0
"""What an engine's containers find outside, in the network namespace of that engine alone: a name server and, behind a name and a
certificate, a Messages API of our own.

  internet.py NAMESERVER ADDRESS NAME CERTIFICATE KEY SCRIPT LOG     prints `ready`; until its input ends"""
import json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "gateway")]
from gatewayworld import NameServer  # noqa: E402
from messages_stub import Stub  # noqa: E402


def main():
    nameserver, address, name, certificate, key, script, log = sys.argv[1:]
    NameServer({name: [address], "elsewhere.example": [address]}, address=nameserver)
    with open(script) as f:
        Stub(json.load(f), key, 443, log, address, certificate)
    print("ready", flush=True)
    sys.stdin.read()


main()
