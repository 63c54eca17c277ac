# SPDX-License-Identifier: Apache-2.0
# A guest that misbehaves in one named way, to see that the guard does not fall for it.
import array
import errno
import os
import socket
import struct
import sys
import time

HELLO, PROBE, PREPARE, GO, SIGNAL, PING = 1, 9, 10, 11, 12, 13
FACT, RESULT, READY, STARTED, FAILED, EXIT, PONG = 32, 33, 34, 35, 36, 37, 38
mode = sys.argv[1]
s = socket.socket(fileno=0)


def send(kind, data=b""):
    s.sendall(struct.pack("<IB3x", len(data), kind) + data)


buffer, fds = b"", []


def frame():
    global buffer
    while True:
        if len(buffer) >= 8:
            length, kind = struct.unpack("<IB", buffer[:5])
            if len(buffer) >= 8 + length:
                data, buffer = buffer[8:8 + length], buffer[8 + length:]
                return kind, data
        data, control, _, _ = s.recvmsg(65536, 256)
        for level, what, cdata in control:
            got = array.array("i")
            got.frombytes(cdata[:len(cdata) - len(cdata) % 4])
            fds.extend(got)
        if not data:
            os._exit(9)
        buffer += data


probes, hello = [], None
while True:
    kind, data = frame()
    if kind == HELLO:
        hello = data
    elif kind == PROBE:
        rest = data[1:].split(b"\0")
        probes.append((data[0], rest[0], rest[1:-1]))
    elif kind == PREPARE:
        break

if mode in ("nest", "keyring", "quota"):  # it could not harden itself
    send(FAILED, struct.pack("<I", errno.EDQUOT if mode == "quota" else errno.EPERM) + (b"nest: unshare" if mode == "nest" else b"session keyring"))
    time.sleep(9)
if mode == "nonce":
    hello = hello[:4] + bytes(16) + hello[20:]
elif mode == "run":
    hello = hello[:20] + b"another0run"
elif mode == "version":
    hello = struct.pack("<I", 99) + hello[4:]
if mode == "early-exit":
    send(EXIT, b"\1" + struct.pack("<I", 0))
if mode == "ready-first":
    send(READY, struct.pack("<QI", 1, 0))
send(HELLO, hello)
if mode == "hello-twice":
    send(HELLO, hello)
send(FACT, b"landlock=7")
if mode == "odd-fact":
    send(FACT, b"x=\x1b[31m")
if mode == "connect":  # not confined at all: it reaches a listener of the guard
    for kind, name, args in probes:
        if name == b"P3" and args[0] == b"127.0.0.1":
            c = socket.create_connection((args[0].decode(), int(args[1])))
failures = 0
for i, (kind, name, args) in enumerate(probes):
    ok = 1
    if mode == "missing" and name == b"P14":
        continue
    if mode in ("fail", "fail-hidden") and name == b"P9":
        ok, failures = 0, failures + 1
    send(RESULT, bytes([ok]) + struct.pack("<Q", 5) + name + b"\0" + (b"\x1b]0;x\x07wrote it" if not ok else b"fine"))
if mode == "unknown":
    send(RESULT, b"\1" + struct.pack("<Q", 5) + b"P99\0")
if mode == "huge":
    os.write(0, struct.pack("<IB3x", 1 << 30, RESULT))
send(READY, struct.pack("<QI", 1000, 0 if mode == "fail-hidden" else failures))
while True:
    kind, data = frame()
    if kind == GO:
        break
if len(fds) != 3:
    send(FAILED, struct.pack("<I", 0) + b"no descriptors")
    time.sleep(9)
os.write(fds[1], b"agent ran\n")
send(STARTED, struct.pack("<I", 7))
if mode == "failed-late":
    send(FAILED, struct.pack("<I", 2) + b"exec")
elif mode == "result-late":
    send(RESULT, b"\1" + struct.pack("<Q", 5) + b"P9\0")
elif mode == "eof":
    os._exit(0)
elif mode == "exit-value":
    send(EXIT, b"\1" + struct.pack("<I", 4096))
elif mode == "exit-twice":
    send(EXIT, b"\1" + struct.pack("<I", 5))
    send(EXIT, b"\1" + struct.pack("<I", 0))
elif mode == "silent":
    while True:
        frame()
elif mode == "deaf":
    time.sleep(3600)
else:
    send(EXIT, b"\1" + struct.pack("<I", 5))
while True:
    frame()
