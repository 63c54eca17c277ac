# SPDX-License-Identifier: Apache-2.0
"""A session bus of our own and on it a real Secret Service (gnome-keyring), headless: no X, no login session, nothing in
the real home.  Locked, never unlocked, not there at all, or stopped, as a test wants it."""
import os, signal, subprocess

CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth><policy context="default">
<allow user="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>
"""
SERVICE = "org.freedesktop.secrets"


class Keyring:
    def __init__(self, root, service=True, unlocked=True):
        """root: a directory of ours, with a name short enough for a socket in it."""
        self.processes, self.daemon = [], None
        self.run, self.data = root + "/run", root + "/data"
        for d in (root, self.run, self.data):
            os.makedirs(d, mode=0o700, exist_ok=True)
        with open(root + "/bus.conf", "w") as f:
            f.write(CONFIG % (self.run + "/bus"))
        bus = subprocess.Popen(["dbus-daemon", "--config-file", root + "/bus.conf", "--nofork", "--nopidfile", "--print-address"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"}, text=True)
        self.processes.append(bus)
        self.address = bus.stdout.readline().strip()
        self.env = {"DBUS_SESSION_BUS_ADDRESS": self.address, "XDG_RUNTIME_DIR": self.run}
        if service:
            self.start(unlocked)

    def start(self, unlocked):
        how = ["--unlock"] if unlocked else ["--start"]
        self.daemon = subprocess.Popen(["gnome-keyring-daemon", "--foreground", "--components=secrets", *how], stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env={"PATH": "/usr/bin:/bin", "HOME": self.data, "XDG_DATA_HOME": self.data, **self.env})
        self.processes.append(self.daemon)
        self.daemon.stdin.write(b"test" if unlocked else b"")
        self.daemon.stdin.close()  # the password goes to the end of its input
        self.wait()

    def send(self, path, method, *args, destination=SERVICE):
        p = subprocess.run(["dbus-send", "--session", "--print-reply", "--dest=" + destination, path, method, *args],
                           capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **self.env}, timeout=30)
        return p.stdout if p.returncode == 0 else None

    def wait(self):
        import time
        for _ in range(400):
            said = self.send("/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner", "string:" + SERVICE, destination="org.freedesktop.DBus")
            if said and "true" in said:
                return
            time.sleep(0.025)
        raise RuntimeError("gnome-keyring-daemon does not serve")

    def lock(self):
        if self.send("/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock", "array:objpath:/org/freedesktop/secrets/collection/login") is None:
            raise RuntimeError("the keyring can't be locked")

    def freeze(self, on=True):
        self.daemon.send_signal(signal.SIGSTOP if on else signal.SIGCONT)

    def tool(self, *args, input=None):
        return subprocess.run(["secret-tool", *args], input=input, capture_output=True, timeout=30, env={"PATH": "/usr/bin:/bin", "HOME": self.data, **self.env})

    def close(self):
        for p in reversed(self.processes):
            p.send_signal(signal.SIGCONT)
            p.kill()
            p.wait()
