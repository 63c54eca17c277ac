/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_SUBCOMMAND_H
#define HOST_SUBCOMMAND_H

#include "host.h"

/* A command that is a family of others: run the one that argv names, or say which there are. */
int host_subcommand(struct host *h, const char *name, const struct host_command *commands, int argc, char **argv);

#endif
