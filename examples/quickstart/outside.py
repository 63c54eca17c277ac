# SPDX-License-Identifier: Apache-2.0
"""outside.py SOCKET: what a confined run must not reach: a port of this machine, a unix socket and this process.

Prints its port and pid; answers each line on its input with how often each of the three was reached.  Ends with its
input, or after ten minutes."""
import os
import select
import signal
import socket
import sys
import time

path = sys.argv[1]
reached = {"port": 0, "socket": 0, "signal": 0}
signal.signal(signal.SIGUSR1, lambda *_: reached.update(signal=reached["signal"] + 1))
tcp = socket.create_server(("127.0.0.1", 0))
unix = socket.socket(socket.AF_UNIX)
unix.bind(path)
unix.listen(8)
print(tcp.getsockname()[1], os.getpid(), flush=True)
end = time.monotonic() + 600
while time.monotonic() < end:
    ready = select.select([0, tcp, unix], [], [], 1)[0]
    for name, listener in (("port", tcp), ("socket", unix)):
        if listener in ready:
            peer = listener.accept()[0]
            reached[name] += 1
            peer.settimeout(2)
            try:
                peer.recv(4096)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret")
            except OSError:
                pass
            peer.close()
    if 0 in ready:
        if not os.read(0, 64):
            break
        print(reached["port"], reached["socket"], reached["signal"], flush=True)
