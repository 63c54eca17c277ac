/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRT_KERNEL_H
#define SRT_KERNEL_H

/* Why this machine forbids the namespaces that srt needs, as far as its own settings tell. */
struct obstacle {
	const char *cause, *fix;
};
const struct obstacle *kernel_obstacle(const char *bwrap); /* NULL: none that shows */

#endif
