/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's own namespaces, where the engine has none around each agent. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_agent.h"
#include "guest_driver.h"
#include "suite.h"

#define CONFINED (OC_GUEST_CONFINED | OC_GUEST_LANDLOCK)

static bool can_nest(struct world *w)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		world_drop(w);
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) < 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status == 0;
}

START_TEST(test_nested)
{
	const uint32_t nested = CONFINED | OC_GUEST_NEST | OC_GUEST_UNIX;
	const char *const kinds[] = { "user", "mnt", "pid", "ipc", "uts", "cgroup" };
	struct world w;
	struct drive d;
	char args[6][64], path[64], out[256];
	struct stat st;

	world_init(&w);
	if (!can_nest(&w)) {
		fprintf(stderr, "# skipped: an ordinary user can't make namespaces here\n");
		world_free(&w);
		return;
	}
	for (int i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		ck_assert_int_eq(stat(path, &st), 0);
		snprintf(args[i], sizeof(args[i]), "%s=%llu", kinds[i], (unsigned long long)st.st_ino);
	}
	PASSES(nested, OC_PROBE_NAMESPACES, args[0], args[1], args[2], args[3], args[4], args[5]);
	PASSES(nested, OC_PROBE_PRIVILEGES, "after", "1");
	PASSES(nested & ~OC_GUEST_LANDLOCK, OC_PROBE_TRACE, NULL);
	SAID("none of 1 other");

	drive_start(&d, &w, 0);
	drive_orders(&d, nested, (const char *[]){ w.self, "agent", "attack", NULL });
	drive_run(&d);
	ck_assert_uint_eq(d.started_pid, 2);
	ck_assert(drive_fact(&d, "nested=yes\n"));
	ck_assert_int_eq(drive_until(&d, OC_FRAME_EXIT, 0), OC_FRAME_EXIT);
	ck_assert_uint_eq(d.exit_value, 37);
	drive_end(&d);

	/* No namespace beneath it, no other filter needed for that. */
	drive_start(&d, &w, 0);
	drive_orders(&d, nested, (const char *[]){ "/bin/cat", "/proc/sys/user/max_user_namespaces", NULL });
	drive_run(&d);
	ck_assert_int_eq(drive_output(&d, out, sizeof(out), 10000), 2);
	ck_assert_mem_eq(out, "0\n", 2);
	drive_end(&d);

	/* The end of the channel is the end of everything in it. */
	drive_start(&d, &w, 0);
	drive_orders(&d, nested, (const char *[]){ w.self, "agent", "children", NULL });
	drive_run(&d);
	ck_assert_int_eq(drive_output(&d, out, sizeof(out), 300), -1);
	close(d.sock);
	d.sock = -1;
	ck_assert_int_eq(drive_output(&d, out, sizeof(out), 10000), 0);
	drive_end(&d);
	world_free(&w);
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = { test_nested };

	if (argc > 1 && !strcmp(argv[1], "agent"))
		return guest_agent(argc, argv);
	return suite_run("guest_nest", tests, sizeof(tests) / sizeof(tests[0]));
}
