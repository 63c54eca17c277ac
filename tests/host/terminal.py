# SPDX-License-Identifier: Apache-2.0
"""A terminal with a person at it, for tests: a pty of our own, a program on it, what it shows and what is typed."""
import fcntl, os, pty, select, signal, struct, subprocess, termios, time


class Terminal:
    def __init__(self, argv, env, rows=30, cols=100, cwd=None, stdin=None, stdout=None):
        self.master, self.slave = pty.openpty()
        self.shown = b""
        self.resize(rows, cols)
        self.before = termios.tcgetattr(self.slave)

        def front():
            os.setsid()
            fcntl.ioctl(0 if stdin is None else 2, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=self.slave if stdin is None else stdin,
                                        stdout=self.slave if stdout is None else stdout, stderr=self.slave, preexec_fn=front)

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.shown += os.read(self.master, 65536)
            except OSError:
                pass

    def until(self, text, seconds=60):
        """True once the text has been shown; what came before it and it are gone from .shown then (see .seen)."""
        end = time.monotonic() + seconds
        while text not in self.shown and time.monotonic() < end and (self.process.poll() is None or select.select([self.master], [], [], 0)[0]):
            self.read(0.1)
        at = self.shown.find(text)
        if at < 0:
            return False
        self.seen, self.shown = self.shown[:at + len(text)], self.shown[at + len(text):]
        return True

    def type(self, data):
        while data:
            if select.select([], [self.master], [], 0.05)[1]:
                data = data[os.write(self.master, data[:4096]):]
            self.read(0)

    def wait(self, seconds=60):
        """The exit status, what was shown until then in .shown; None: it didn't end."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        while select.select([self.master], [], [], 0)[0]:
            self.read(0)
        return self.process.poll()

    def raw(self):
        return not termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ISIG | termios.ECHO)

    def as_before(self):
        return termios.tcgetattr(self.slave) == self.before

    def hang_up(self):
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        if self.master >= 0:
            self.hang_up()
