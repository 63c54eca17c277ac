/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's system call filter: a table of rules, turned into BPF by hand. */
#ifndef OC_GUEST_SECCOMP_H
#define OC_GUEST_SECCOMP_H

#include <stddef.h>
#include <stdint.h>

struct sock_filter;

/* Instructions for these options (enum oc_guest_option) into out; their number, or -ENOSPC. */
int oc_seccomp_program(uint32_t options, struct sock_filter *out, size_t cap);
/* Load it for this process and what it starts: 0 or -errno.  Needs no_new_privs. */
int oc_seccomp_apply(uint32_t options);

#endif
