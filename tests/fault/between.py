# SPDX-License-Identifier: Apache-2.0
"""A socket in front of the engine's: somebody is told of each request before it is passed on, and of each reply before the
client has it; one field of an answer can be changed; and it can go away, as an engine's does that ends, or be silent."""
import os, re, socket, sys, threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "engine"))
import meddler  # noqa: E402

meddler.say = lambda text: None


class Between:
    def __init__(self, path, upstream):
        self.path, self.upstream, self.watch, self.clients, self.lock = path, upstream, None, set(), threading.Lock()
        self.rules, self.whole, self.speaks = [], None, threading.Event()
        self.speaks.set()
        self.listener = None
        self.up()

    def fits(self, side, method, path):
        """Asked as a rule of the meddler is, for each message; none is changed."""
        self.speaks.wait()
        with self.lock:
            watch, self.whole = self.watch, path
            if watch:
                path = re.sub(r"^/v[0-9.]+(?=/)", "", path.split("?")[0])
                watch(side, method, re.sub(r"^/(containers|networks)/(?!create)[^/]+", r"/\1/ID", path), path)
        return False

    def serve(self, sock):
        self.clients.add(sock)
        try:
            meddler.serve(sock, self.upstream, [self] + self.rules)
        finally:
            self.clients.discard(sock)

    def change(self, *rules):
        """As the meddler's rules say, for connections from now on; without any: as the engine says."""
        self.rules = [meddler.Rule(rule) for rule in rules]

    def accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def up(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def down(self):
        os.unlink(self.path)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in list(self.clients):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:  # it has ended meanwhile
                pass
