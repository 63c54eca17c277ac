/* SPDX-License-Identifier: Apache-2.0 */
/* A run's output, from the files its guard writes: the same while it runs and years later. */
#include <errno.h>

#include "base/fd.h"
#include "guard/protocol.h"
#include "store/store.h"

#define BUDGET (1u << 20) /* payload a call, so that no caller is held up for long */

int oc_store_output(oc_store *store, const char *id, uint64_t *offset,
                    void (*fn)(int stream, uint64_t offset, const void *data, size_t len, void *userdata),
                    void *userdata, oc_error **err)
{
	oc_cleanup(oc_closep) int dir = -1;
	char run[OC_RUN_ID_SIZE];
	int rc;

	if (!store || !id || !offset || !fn)
		return oc_fail(err, OC_EINVAL, 0, "oc_store_output: store, id, offset and fn must not be NULL");
	rc = oc_context_check(store->ctx, err);
	if (rc == 0)
		rc = oc_store_resolve(store, id, run, err);
	if (rc < 0)
		return rc;
	dir = oc_store_run_dir(store, run, false, err);
	return dir < 0 ? dir : oc_journal_read(dir, offset, BUDGET, fn, userdata, err);
}
