/* SPDX-License-Identifier: Apache-2.0 */
/* An engine that gives an entry of a hidden directory back mounts it, and of a link that is a mount of where
 * it leads: read-only where the target is writable, and not hidden where something beneath the target is.
 * As links they lead wherever their target may be reached, and nowhere else: no rule has to know them.
 * Nothing is made but in a tmpfs that is the sandbox's own, so that where nothing is hidden nothing of the
 * host's changes; and one that can't be made is only missing. */
#include "guest/links.h"

#include "guest/probe.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool in_own_tmpfs(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[4096];

	if (slash == path || (size_t)(slash - path) >= sizeof(dir))
		return false;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = 0;
	return oc_probe_own_tmpfs(dir);
}

void oc_links_make(const struct oc_orders *o, struct oc_link *report)
{
	size_t made = 0;

	for (size_t i = 0; i + 1 < o->links.n; i += 2)
		if (in_own_tmpfs(o->links.v[i]) && symlink(o->links.v[i + 1], o->links.v[i]) == 0)
			made++;
	if (o->links.n)
		oc_report_fact(report, "links", "%zu of %zu", made, o->links.n / 2);
}
