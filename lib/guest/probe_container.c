/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine was asked for, seen from inside: who we are, a root that can't be written, limits in force. */
#include "guest/probe.h"

#include "guest/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NANO 1000000000ull

/* Of the unified hierarchy, or of the older one of its own. */
static bool read_limit(const char *unified, const char *own, char *text, size_t size, char *detail)
{
	char path[128];
	const char *const names[] = { unified, own };

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", names[i]);
		if (oc_read_small(path, text, size) > 0) {
			text[strcspn(text, "\n")] = 0;
			return true;
		}
	}
	oc_probe_say(detail, "no limit can be read at /sys/fs/cgroup/%s or %s", unified, own);
	return false;
}

static bool limit_is(const char *unified, const char *own, uint64_t asked, char *detail)
{
	char text[64];
	uint64_t is;

	if (!asked)
		return true;
	if (!read_limit(unified, own, text, sizeof(text), detail))
		return false;
	if (oc_parse_u64(text, &is) && is == asked)
		return true;
	oc_probe_say(detail, "%s is %.40s, and %llu was planned", unified, text, (unsigned long long)asked);
	return false;
}

/* "QUOTA PERIOD" in microseconds, or two files. */
static bool read_cpus(uint64_t *quota, uint64_t *period, char *detail)
{
	char text[64], other[64], *space;

	if (!read_limit("cpu.max", "cpu/cpu.cfs_quota_us", text, sizeof(text), detail))
		return false;
	space = strchr(text, ' ');
	if (space)
		*space = 0;
	else if (!read_limit("cpu.max", "cpu/cpu.cfs_period_us", other, sizeof(other), detail))
		return false;
	if (oc_parse_u64(text, quota) && oc_parse_u64(space ? space + 1 : other, period) && *period)
		return true;
	oc_probe_say(detail, "no limit of processors is in force");
	return false;
}

static bool cpus_are(uint64_t nano, char *detail)
{
	uint64_t quota, period;

	if (!nano)
		return true;
	if (!read_cpus(&quota, &period, detail))
		return false;
	if (quota == nano / 1000 * period / (NANO / 1000))
		return true;
	oc_probe_say(detail, "%llu of %llu us of processor time, and %llu billionths were planned",
	             (unsigned long long)quota, (unsigned long long)period, (unsigned long long)nano);
	return false;
}

static bool we_are(uint64_t uid, uint64_t gid, char *detail)
{
	gid_t groups[64];
	uid_t u[3];
	gid_t g[3];
	int n = getgroups(64, groups);

	if (getresuid(&u[0], &u[1], &u[2]) < 0 || getresgid(&g[0], &g[1], &g[2]) < 0)
		return false;
	for (int i = 0; i < 3; i++)
		if (u[i] != uid || g[i] != gid) {
			oc_probe_say(detail, "we are %u:%u", (unsigned)u[i], (unsigned)g[i]);
			return false;
		}
	if (n == 0 || (n == 1 && groups[0] == gid))
		return true;
	oc_probe_say(detail, "%d groups beside our own", n);
	return false;
}

static bool root_is_fixed(char *detail)
{
	struct statvfs fs;

	if (statvfs("/", &fs) == 0 && (fs.f_flag & ST_RDONLY))
		return true;
	oc_probe_say(detail, "the root is not mounted read-only");
	return false;
}

bool oc_probe_container(struct oc_probe_run *run, const struct oc_probe *p, char *detail)
{
	uint64_t n[5];

	(void)run;
	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++)
		if (!oc_parse_u64(p->args.v[i], &n[i])) {
			oc_probe_say(detail, "'%.60s' is no number", p->args.v[i]);
			return false;
		}
	if (!we_are(n[0], n[1], detail) || !root_is_fixed(detail) ||
	    !limit_is("memory.max", "memory/memory.limit_in_bytes", n[2], detail) ||
	    !limit_is("pids.max", "pids/pids.max", n[3], detail) || !cpus_are(n[4], detail))
		return false;
	oc_probe_say(detail, "%llu:%llu alone, a read-only root, the planned limits", (unsigned long long)n[0],
	             (unsigned long long)n[1]);
	return true;
}
