#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# imports.sh LIB: what the library may not do to its embedder, asked of the linked object: it ends no process, prints
# nothing, forks nothing, changes no signal, directory, environment or locale.
set -u
forbidden='_?exit|_Exit|quick_exit|abort|v?f?printf|__v?f?printf_chk|puts|fputs|putc|fputc|putchar|perror|stderr|stdout|err|errx|warn|warnx'
forbidden+='|v?fork|_Fork|daemon|system|popen|execl?[vp]*e?|signal|sigaction|sigprocmask|pthread_sigmask|sigset|raise'
forbidden+='|setenv|putenv|unsetenv|clearenv|f?chdir|chroot|umask|setlocale|uselocale|atexit|pthread_atfork|on_exit|setuid|setgid'
forbidden+='|__assert_fail|longjmp|__longjmp_chk|alarm|setitimer|wait|strtok|localtime|gmtime|syslog|srand|rand'
found=$(nm -D --undefined-only "$1" | awk '{ print $2 }' | sed 's/@.*//' | grep -xE "$forbidden")
[ -z "$found" ] || { printf 'the library calls: %s\n' "$(tr '\n' ' ' <<<"$found")"; exit 1; }
