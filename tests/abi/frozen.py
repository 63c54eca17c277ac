# SPDX-License-Identifier: Apache-2.0
"""frozen.py HEADERS: each enum constant and each sized struct's layout in public headers as static assertions.

The values are the compiler's, of the headers frozen then; the assertions are compiled against the headers of today, so
a constant that is renumbered or a member that moves is a build error.  (abidiff 2.2 does not see a renumbered enum.)"""
import os
import re
import subprocess
import sys
import tempfile


def strip(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def main():
    folder = sys.argv[1]
    text = ""
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text += strip(file.read())
    constants = []
    for body in re.findall(r"enum\s+\w*\s*\{(.*?)\}", text, re.S):
        constants += re.findall(r"\b([A-Z][A-Z0-9_]+)\b\s*(?==|,|$)", body)
    members = []
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\n\}\s*(\w+);", text, re.S):
        for line in body.split(";"):
            pointer = re.search(r"\(\*(\w+)\)\s*\(", line)
            if pointer:
                members.append((name, pointer.group(1)))
            elif line.strip():
                first, *rest = line.split(",")
                names = [first.split()[-1]] + rest
                members += [(name, n.strip().lstrip("*").replace("const", "").strip(" *")) for n in names]
    program = '#include <stdio.h>\n#include <openconduit/openconduit.h>\n#include <openconduit/provider.h>\nint main(void) {\n'
    for c in constants:
        program += 'printf("_Static_assert(%s == %%d, \\"%s was renumbered\\");\\n", (int)%s);\n' % (c, c, c)
    for struct, member in members:
        program += ('printf("_Static_assert(offsetof(%s, %s) == %%zu, \\"%s.%s moved\\");\\n", offsetof(%s, %s));\n'
                    % (struct, member, struct, member, struct, member))
    program += "return 0; }\n"
    with tempfile.TemporaryDirectory() as work:
        source, binary = os.path.join(work, "a.c"), os.path.join(work, "a")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program)
        include = os.path.dirname(folder.rstrip("/"))
        subprocess.run(["gcc", "-std=gnu11", "-I" + include, "-o", binary, source], check=True)
        out = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    print("/* SPDX-License-Identifier: Apache-2.0 */\n/* Made by frozen.py when the version was frozen; never changed. */")
    print("#include <stddef.h>\n\n#ifdef __LP64__")
    print(out + "#endif")
    return 0 if constants and members else 1


sys.exit(main())
