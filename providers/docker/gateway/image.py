# SPDX-License-Identifier: Apache-2.0
"""The gateway's image: one layer with one static file, the same bytes for the same program.

  image.py [--docker PROGRAM] [--output FILE] GATEWAY VERSION

Loads it into the engine that docker's own environment and contexts name (DOCKER_HOST, DOCKER_CONTEXT); the last line is the image ID
alone, as that engine knows it: an engine's image store decides what an ID is the digest of.  With --output it writes the
archive (as `docker save` does) and loads nothing."""
import argparse, hashlib, io, json, struct, subprocess, sys, tarfile, tempfile

NAME = "open-conduit-gateway"
EPOCH = "1970-01-01T00:00:00Z"
MACHINES = {62: "amd64", 183: "arm64"}


def architecture(program):
    """What the file is for, and that it needs nothing else."""
    if program[:5] != b"\x7fELF\x02":
        sys.exit("image.py: no 64-bit ELF file: the image is of a Linux program")
    machine, offset, size, count = struct.unpack_from("<H", program, 18) + struct.unpack_from("<Q", program, 32) + struct.unpack_from("<HH", program, 54)
    kinds = [struct.unpack_from("<I", program, offset + i * size)[0] for i in range(count)]
    if 3 in kinds:
        sys.exit("image.py: the program is dynamic: it wouldn't start in an image of nothing else; build it with musl-gcc or -static")
    if machine not in MACHINES:
        sys.exit("image.py: no name for ELF machine %d: add it to MACHINES" % machine)
    return MACHINES[machine]


def put(tar, name, data, mode):
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    tar.addfile(info, io.BytesIO(data))


def archive(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data, mode in files:
            put(tar, name, data, mode)
    return out.getvalue()


def digest(data):
    return hashlib.sha256(data).hexdigest()


def image(program, version):
    layer = archive([(NAME, program, 0o755)])
    config = json.dumps({
        "architecture": architecture(program), "os": "linux", "created": EPOCH,
        "config": {"Entrypoint": ["/" + NAME], "User": "65534:65534", "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest(layer)]},
        "history": [{"created": EPOCH, "created_by": "%s %s" % (NAME, version)}]}, sort_keys=True, separators=(",", ":")).encode()
    names = digest(config) + ".json", digest(layer) + "/layer.tar"
    manifest = json.dumps([{"Config": names[0], "RepoTags": ["%s:%s" % (NAME, version)], "Layers": [names[1]]}], separators=(",", ":")).encode()
    return archive([("manifest.json", manifest, 0o644), (names[0], config, 0o644), (names[1], layer, 0o644)])


def load(docker, data, version):
    """By a file, not a pipe: an engine that refuses early would leave us writing to nobody."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        try:
            p = subprocess.run([docker, "load", "--quiet"], stdin=file)
        except OSError as error:
            sys.exit("image.py: %s: %s: install Docker's command line" % (docker, error.strerror))
    if p.returncode:
        sys.exit("image.py: the engine did not load the image")
    p = subprocess.run([docker, "image", "inspect", "--format", "{{.Id}}", "%s:%s" % (NAME, version)], stdout=subprocess.PIPE, text=True)
    if p.returncode or not p.stdout.startswith("sha256:"):
        sys.exit("image.py: the engine has no image after loading it")
    return p.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--docker", default="docker")
    parser.add_argument("--output")
    parser.add_argument("gateway")
    parser.add_argument("version")
    args = parser.parse_args()
    with open(args.gateway, "rb") as file:
        data = image(file.read(), args.version)
    if args.output:
        with open(args.output, "wb") as file:
            file.write(data)
        return
    found = load(args.docker, data, args.version)
    print("To use it: export OPEN_CONDUIT_GATEWAY_IMAGE=%s" % found)
    print(found)


main()
