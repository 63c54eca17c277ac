/* SPDX-License-Identifier: Apache-2.0 */
/* What the guard orders: everything between its HELLO and its PREPARE, checked and bounded. */
#ifndef OC_GUEST_ORDERS_H
#define OC_GUEST_ORDERS_H

#include "guest/channel.h"

struct oc_strings {
	char **v; /* ends with NULL when there is one at all */
	size_t n, cap;
};

struct oc_probe {
	uint8_t kind;
	char *id;
	struct oc_strings args;
};

struct oc_orders {
	unsigned char *hello; /* the payload, to be echoed */
	size_t hello_len;
	uint32_t options;
	bool have_options, prepared;
	uint16_t rows, cols; /* of the terminal */
	char *cwd, *belt;    /* belt: where the toolbelt listens; NULL: there is none */
	struct oc_strings args, env, inherit, secrets, writable;
	struct oc_strings links; /* path, target, path, … */
	struct oc_probe *probes;
	size_t n_probes, cap_probes;
	size_t strings, bytes; /* taken so far */
};

void oc_orders_init(struct oc_orders *o);
void oc_orders_free(struct oc_orders *o);
/* One frame before (or the) PREPARE: 0, or a positive errno with *why set: the frame is refused. */
int oc_orders_take(struct oc_orders *o, const struct oc_frame *f, const char **why);
/* A RESIZE's payload; false: it is none. */
bool oc_orders_size(const struct oc_frame *f, uint16_t *rows, uint16_t *cols);
/* The agent's environment (new array of borrowed strings but for those inherited; free the array only), or NULL. */
char **oc_orders_environment(const struct oc_orders *o, char **own);
/* The secrets' values out of memory. */
void oc_orders_wipe(struct oc_orders *o);

#endif
