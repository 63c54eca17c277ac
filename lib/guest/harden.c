/* SPDX-License-Identifier: Apache-2.0 */
/* Who hardens itself: the child that will be the agent, once, before the probes.  It then runs the
 * probes and waits for go, so that what was proved is not a process like the agent's but the very
 * process that executes it; and the results are there before the agent's first instruction, so that
 * it can't influence them.  The guest stays outside: were it in the same Landlock domain, the agent's
 * signals would reach it. */
#include "guest/harden.h"

#include "guest/landlock.h"
#include "guest/report.h"
#include "guest/seccomp.h"
#include "guest/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#ifndef PR_CAP_AMBIENT
#define PR_CAP_AMBIENT           47
#define PR_CAP_AMBIENT_CLEAR_ALL 4
#endif
#define KEYCTL_JOIN_SESSION_KEYRING 1
#define OOM_SCORE_ADJ               500

static bool field(const char *text, const char *name, int base, uint64_t *out)
{
	const char *p = strstr(text, name);

	if (!p || (p != text && p[-1] != '\n'))
		return false;
	*out = strtoull(p + strlen(name), NULL, base);
	return true;
}

void oc_status_read(struct oc_status *s)
{
	static const char *const sets[] = { "CapInh:", "CapPrm:", "CapEff:", "CapAmb:" };
	char text[8192];
	uint64_t v;

	memset(s, 0, sizeof(*s));
	s->filters = -1;
	if (oc_read_small("/proc/self/status", text, sizeof(text)) <= 0)
		return;
	s->valid = true;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (field(text, sets[i], 16, &v))
			s->caps |= v;
		else
			s->valid = false;
	}
	if (field(text, "NoNewPrivs:", 10, &v))
		s->no_new_privs = (int)v;
	if (field(text, "Seccomp:", 10, &v))
		s->seccomp = (int)v;
	if (field(text, "Seccomp_filters:", 10, &v))
		s->filters = (int)v;
}

int oc_drop_capabilities(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2];

	memset(none, 0, sizeof(none));
	/* Only who has CAP_SETPCAP can empty the bounding set; without capabilities no_new_privs makes it moot. */
	for (unsigned long cap = 0; cap < 64 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -errno;
	return syscall(__NR_capset, &head, none) ? -errno : 0;
}

/* Raised, never lowered; a sandbox may have no writable /proc, which is no hole: told as a fact. */
static void raise_oom_score(struct oc_link *report)
{
	char buf[32], name[16];
	int fd, err = 0;
	ssize_t n;

	if (oc_read_small("/proc/self/oom_score_adj", buf, sizeof(buf)) > 0 && atoi(buf) >= OOM_SCORE_ADJ) {
		oc_report_fact(report, "oom_score_adj", "%d", atoi(buf));
		return;
	}
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : write(fd, "500", 3);
	if (n < 0)
		err = errno;
	if (fd >= 0)
		close(fd);
	if (err)
		oc_report_fact(report, "oom_score_adj", "%s", oc_errno_name(err, name, sizeof(name)));
	else
		oc_report_fact(report, "oom_score_adj", "%d", OOM_SCORE_ADJ);
}

/* A kernel without keyrings, or an outer filter that denies them, needs none of ours. */
static int fresh_keyring(struct oc_link *report)
{
	char name[16];

	if (syscall(__NR_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0) {
		oc_report_fact(report, "keyring", "fresh");
		return 0;
	}
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	oc_report_fact(report, "keyring", "%s", oc_errno_name(errno, name, sizeof(name)));
	return 0;
}

static int landlock(const struct oc_orders *o, struct oc_link *report, const char **stage)
{
	int abi = oc_landlock_abi(), result;

	if (!(o->options & OC_GUEST_LANDLOCK)) {
		oc_report_fact(report, "landlock", "off");
		return 0;
	}
	*stage = "landlock";
	if (!abi)
		return -ENOSYS;
	result = oc_landlock_apply(abi, o->writable.v, stage);
	if (result < 0)
		return result;
	oc_report_fact(report, "landlock", "%d", abi);
	oc_report_fact(report, "landlock_scopes", "%s", abi >= 6 ? "abstract_unix,signal" : "none");
	return 0;
}

int oc_harden(const struct oc_orders *o, struct oc_link *report, const char **stage)
{
	struct oc_status s;
	int result;

	raise_oom_score(report);
	*stage = "session keyring";
	result = fresh_keyring(report);
	if (result < 0)
		return result;
	*stage = "no_new_privs";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	*stage = "capabilities";
	result = oc_drop_capabilities();
	if (result < 0)
		return result;
	result = landlock(o, report, stage);
	if (result < 0)
		return result;
	*stage = "seccomp";
	result = oc_seccomp_apply(o->options);
	if (result < 0)
		return result;
	oc_status_read(&s);
	oc_report_fact(report, "no_new_privs", "%d", s.no_new_privs);
	oc_report_fact(report, "seccomp", "%d", s.seccomp);
	oc_report_fact(report, "seccomp_filters", "%d", s.filters);
	return 0;
}

void oc_report_self(const struct oc_orders *o, struct oc_link *report)
{
	static const char *const kinds[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" };
	char path[64], name[16];
	struct stat st;

	oc_report_fact(report, "guest", "%s", OC_VERSION);
	oc_report_fact(report, "nested", "%s", o->options & OC_GUEST_NEST ? "yes" : "no");
	oc_report_fact(report, "uid", "%lu", (unsigned long)geteuid());
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		snprintf(name, sizeof(name), "ns_%s", kinds[i]);
		if (stat(path, &st) == 0)
			oc_report_fact(report, name, "%llu", (unsigned long long)st.st_ino);
	}
}
