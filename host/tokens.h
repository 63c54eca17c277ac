/* SPDX-License-Identifier: Apache-2.0 */
/* The end of what was made for runs that are over: revoked by open-conduit-github, which gets each from the run's guard. */
#ifndef HOST_TOKENS_H
#define HOST_TOKENS_H

#include "host.h"

/* Of one run that has ended, or of all (NULL).  What can't be revoked yet is told, and tried again at the next call; true: there
 * is nothing that could be. */
bool tokens_revoke(struct host *h, const char *run);

#endif
