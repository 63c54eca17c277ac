#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The battery's attempts, and those that a container gives rise to: the host's addresses on its networks, the engine's
resolver and socket, what an engine masks.  Used as battery.py is, with more facts, made by boxes.py."""
import ctypes, errno, os, socket, struct

import battery
from battery import F, attempt, content, in_child, libc, route, syscall, tcp

ICMP_ECHO = struct.pack(">BBHHH", 8, 0, 0xF7FD, 1, 1)


def any_of(f, values):
    """One that is refused says nothing about the next."""
    for value in values:
        try:
            if f(value):
                return True
        except OSError:
            pass
    return False


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def is4(address):
    return ":" not in address


def pings(address, port, kind=None):
    with socket.socket(kind or family(address), socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.sendto(b"ping", (address, port))
        return s.recv(16) == b"pong"


def own_address():
    """Of the network that this process is in: no packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        url = os.environ.get("HTTP_PROXY", "http://%s:1" % F["bridge"])
        s.connect((url.rpartition("@")[2].rpartition("/")[2].split(":")[0], 1))
        return s.getsockname()[0]


# --- network -------------------------------------------------------------------------------------
@attempt
def tcp_any_address_of_the_host():
    return any_of(lambda a: tcp(a, F["port_any"]), filter(is4, F["addresses"]))


@attempt
def tcp6_any_address_of_the_host():
    return any_of(lambda a: tcp(a, F["port6_any"], socket.AF_INET6), (a for a in F["addresses"] if not is4(a)))


@attempt
def tcp_mapped_address_of_the_host():
    return any_of(lambda a: tcp("::ffff:" + a, F["port_any"], socket.AF_INET6), filter(is4, F["addresses"]))


@attempt
def udp_any_address_of_the_host():
    return any_of(lambda a: pings(a, F["udp_any"]), filter(is4, F["addresses"]))


@attempt
def udp6_any_address_of_the_host():
    return any_of(lambda a: pings(a, F["udp_any"]), (a for a in F["addresses"] if not is4(a)))


@attempt
def udp_mapped_address_of_the_host():
    return any_of(lambda a: pings("::ffff:" + a, F["udp_any"], socket.AF_INET6), filter(is4, F["addresses"]))


@attempt
def first_addresses_of_its_own_network():
    own = own_address()
    base, _, last = own.rpartition(".")
    first = int(last) & ~7
    return any_of(lambda n: tcp("%s.%d" % (base, n), F["port_any"]), (n for n in range(first, first + 8) if n != int(last)))


@attempt
def multicast_to_the_link():
    """The host's end of a bridge answers on its link-local address, where it has one."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("eth0"))
        s.sendto(b"ping", ("ff02::1", F["udp_any"], 0, socket.if_nametoindex("eth0")))
        return s.recv(16) == b"pong"


@attempt
def broadcast_to_the_link():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b"ping", ("255.255.255.255", F["udp_any"]))
        return s.recv(16) == b"pong"


@attempt
def icmp_echo_to_the_host():
    """A ping socket needs no capability, and an engine allows it to every group."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as s:
        s.settimeout(2)
        s.sendto(ICMP_ECHO + b"battery", (F["bridge"], 0))
        return b"battery" in s.recv(256)


@attempt
def route_documentation():
    return any_of(route, ("198.51.100.1", "203.0.113.1", "100.64.0.1", "224.0.0.251"))


@attempt
def route_metadata_of_all_kinds():
    return any_of(route, ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254", "168.63.129.16"))


@attempt
def add_a_route():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        # EPERM comes first where it isn't allowed; where it is, this one says nothing that could be added.
        return libc.ioctl(s.fileno(), 0x890B, ctypes.create_string_buffer(120)) == 0 or ctypes.get_errno() != errno.EPERM


def dns(name, server="127.0.0.11"):
    """Whether an address comes back."""
    question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0" + struct.pack(">HH", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(3)
        s.sendto(struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + question, (server, 53))
        return struct.unpack(">HHHHHH", s.recv(512)[:12])[3] > 0


@attempt
def name_of_another_container_by_the_engines_resolver():
    return dns(F["alias"])


@attempt
def name_of_another_container_by_the_libraries():
    return bool(socket.getaddrinfo(F["alias"], 80))


# --- the engine, and what it masks ---------------------------------------------------------------
@attempt
def socket_of_the_engine():
    def connect(path):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
        return True
    return any_of(connect, (F["engine"], "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"))


def opens(path, flags=os.O_WRONLY):
    os.close(os.open(path, flags))
    return True


@attempt
def write_the_root():
    path = "/battery-%d" % os.getpid()
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    os.unlink(path)
    return True


@attempt
def write_what_the_guest_is_made_of():
    return any_of(opens, ("/etc/passwd", "/etc/hosts", "/etc/resolv.conf", "/.open-conduit/guest", "/usr/bin/env"))


@attempt
def open_a_setting_of_the_kernel():
    return any_of(opens, ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sys/net/ipv4/ip_forward"))


@attempt
def raise_its_own_limits():
    return any_of(opens, ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs"))


@attempt
def read_what_is_masked():
    def reads(path):
        with open(path, "rb") as f:
            return len(f.read(1)) > 0
    return any_of(reads, ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/latency_stats", "/proc/acpi/wakeup"))


@attempt
def read_the_kernels_log():
    return syscall(103, 3, ctypes.create_string_buffer(64), 64) >= 0


@attempt
def open_a_device_of_the_host():
    return any_of(lambda p: opens(p, os.O_RDONLY), ("/dev/kmsg", "/dev/mem", "/dev/loop-control", "/dev/fuse", "/dev/kvm", "/dev/vda", "/dev/sda"))


@attempt
def become_root():
    return in_child(lambda: libc.setresuid(0, 0, 0) == 0)


@attempt
def take_other_groups():
    return in_child(lambda: libc.setgroups(1, (ctypes.c_uint * 1)(0)) == 0)


@attempt
def mount_without_a_namespace():
    return in_child(lambda: libc.unshare(0x00020000) == 0 and libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)


@attempt
def unmount_a_cover():
    """What is mounted over .git's own files."""
    return in_child(lambda: libc.unshare(0x00020000) == 0 and libc.umount2(b"/proc", 2) == 0)


@attempt
def join_the_hosts_network():
    fd = os.open("/proc/%d/ns/net" % F["ns_pid"], os.O_RDONLY)
    return in_child(lambda: libc.setns(fd, 0) == 0)


@attempt
def set_the_hosts_name():
    return in_child(lambda: libc.unshare(0x04000000) == 0 and libc.sethostname(b"battery", 7) == 0)


@attempt
def a_keyring_of_its_own():
    return syscall(250, 1, ctypes.c_char_p(b"oc-battery")) > 0


@attempt
def load_a_module():
    # No such image: what is asked is whether one may try.
    libc.syscall(175, b"", 0, b"")
    return ctypes.get_errno() != errno.EPERM


@attempt
def see_a_process_of_the_host():
    return b"sleep\0001000" in content("/proc/%d/cmdline" % F["pid"])


if __name__ == "__main__":
    battery.main()
