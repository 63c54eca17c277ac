/* SPDX-License-Identifier: Apache-2.0 */
/* What a container's plan is made of: mounts, requests, what is left open in them, passwd, the gateway's events. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "create.h"
#include "events.h"
#include "fill.h"
#include "mounts.h"
#include "passwd.h"
#include "spec.h"
#include "suite.h"

static json_t *parse(const char *text)
{
	json_error_t error;
	json_t *json = json_loads(text, 0, &error);

	ck_assert_msg(json != NULL, "%s in %s", error.text, text);
	return json;
}

static int plan_mounts(const char *resolved, const char *volumes, struct mounts *out, struct refusal *r)
{
	json_t *policy = parse(resolved), *declared = volumes ? parse(volumes) : NULL;
	const struct mounts_input in = { .resolved = policy,
		                         .volumes = declared,
		                         .guest = "/usr/libexec/open-conduit/open-conduit-guest",
		                         .live = "/s/live/abcdefgh",
		                         .socket = "/run/user/1000/docker.sock",
		                         .memory = 0 };
	int rc = mounts_plan(&in, out, r);

	json_decref(policy);
	json_decref(declared);
	return rc;
}

static const json_t *at(const struct mounts *m, const char *target)
{
	const json_t *mount;
	size_t i;

	json_array_foreach(m->list, i, mount) if (!strcmp(text_of(mount, "Target"), target)) return mount;
	return NULL;
}

/* "rw", "ro", "tmpfs", "tmpfs ro" or "" for nothing. */
static const char *kind(const struct mounts *m, const char *target)
{
	const json_t *mount = at(m, target);
	bool ro = json_is_true(json_object_get(mount, "ReadOnly"));

	if (!mount)
		return "";
	if (!strcmp(text_of(mount, "Type"), "tmpfs"))
		return ro ? "tmpfs ro" : "tmpfs";
	ck_assert_str_eq(text_of(json_object_get(mount, "BindOptions"), "Propagation"), "rprivate");
	ck_assert(json_is_true(json_object_get(json_object_get(mount, "BindOptions"), "ReadOnlyForceRecursive")) == ro);
	return ro ? "ro" : "rw";
}

#define GRANTS                                                                                                         \
	"\"write\":[{\"path\":\"/h/ws\",\"rule\":\"write[0]\",\"dev\":1,\"ino\":2},"                                   \
	"{\"path\":\"/s/live/abcdefgh/run\",\"rule\":\"{run}\",\"dev\":0,\"ino\":0}],"                                 \
	"\"read\":[{\"path\":\"/\",\"allow\":false,\"rule\":\"container\"},{\"path\":\"/h/"                            \
	"ws\",\"allow\":true,\"rule\":\"write[0]\"},"                                                                  \
	"{\"path\":\"/h/.gitconfig\",\"allow\":true,\"rule\":\"read[0]\",\"dev\":1,\"ino\":3},"                        \
	"{\"path\":\"/h/ws/ro\",\"allow\":true,\"rule\":\"read[1]\",\"dev\":1,\"ino\":4}]"
#define GIT                                                                                                            \
	"\"git\":{\"path\":\"/h/ws/.git\",\"mode\":\"clone\",\"dev\":1,\"ino\":5},"                                    \
	"\"readonly\":[{\"path\":\"/h/ws/.git/config\",\"what\":\"git\"},{\"path\":\"/h/ws/ro\",\"what\":\"read\"}]"

START_TEST(test_mounts)
{
	static const char *const want[][2] = {
		{ "/h/ws", "rw" },
		{ "/h/ws/.git", "rw" },
		{ "/h/ws/.git/config", "ro" },
		{ "/h/ws/ro", "ro" },
		{ "/h/.gitconfig", "ro" },
		{ "/s/live/abcdefgh/run", "rw" },
		{ "/", "" },
		{ "/tmp", "tmpfs" },
		{ "/etc/passwd", "ro" },
		{ "/etc/group", "ro" },
		{ MOUNTS_GUEST, "ro" },
		{ MOUNTS_OURS "/channel", "ro" },
		{ "/data", "tmpfs ro" },
		{ "/var/lib/x", "tmpfs ro" },
	};
	struct refusal r = { 0 };
	struct mounts m;
	const char *last = "";
	const json_t *mount;
	size_t i;

	ck_assert_int_eq(plan_mounts("{" GRANTS "," GIT "}", "{\"/data\":{},\"//var/lib/x/\":{},\"/tmp\":{}}", &m, &r),
	                 0);
	for (i = 0; i < COUNT(want); i++)
		ck_assert_msg(!strcmp(kind(&m, want[i][0]), want[i][1]), "%s is %s", want[i][0], kind(&m, want[i][0]));
	json_array_foreach(m.list, i, mount)
	{
		ck_assert_str_lt(last, text_of(mount, "Target"));
		last = text_of(mount, "Target");
	}
	ck_assert_uint_eq(json_array_size(m.list), COUNT(want) - 1);
	/* What is looked at again before it is mounted; {run} has no number before it is made. */
	ck_assert_uint_eq(json_array_size(m.sources), 6);
	mounts_clear(&m);
}
END_TEST

/* Without a grant of the workspace its .git isn't there either; a workspace that may be read only has one that is. */
START_TEST(test_git)
{
	struct refusal r = { 0 };
	struct mounts m;

	ck_assert_int_eq(plan_mounts("{\"write\":[],\"read\":[]," GIT "}", NULL, &m, &r), 0);
	ck_assert_str_eq(kind(&m, "/h/ws/.git"), "");
	mounts_clear(&m);
	ck_assert_int_eq(plan_mounts("{" GRANTS
	                             ",\"git\":{\"path\":\"/h/ws/.git\",\"mode\":\"readonly\",\"dev\":1,\"ino\":5}}",
	                             NULL, &m, &r),
	                 0);
	ck_assert_str_eq(kind(&m, "/h/ws/.git"), "ro");
	mounts_clear(&m);
}
END_TEST

static void refused_mounts(const char *resolved, const char *volumes, const char *reason, const char *subject)
{
	struct refusal r = { 0 };
	struct mounts m;

	ck_assert_msg(plan_mounts(resolved, volumes, &m, &r) < 0, "%s %s", resolved, volumes);
	ck_assert_str_eq(r.reason, reason);
	ck_assert_str_eq(r.subject, subject);
	ck_assert_ptr_nonnull(r.fix);
	refusal_clear(&r);
}

START_TEST(test_mounts_refused)
{
	static const char *const grants[] = { "/",
		                              "/proc",
		                              "/proc/1",
		                              "/sys",
		                              "/dev/shm",
		                              "/tmp",
		                              "/run/user/1000/docker.sock",
		                              "/run",
		                              "/run/user/1000",
		                              "/etc/passwd",
		                              MOUNTS_OURS "/x" };
	char text[300];
	size_t i;

	for (i = 0; i < COUNT(grants); i++) {
		(void)snprintf(text, sizeof(text),
		               "{\"write\":[],\"read\":[{\"path\":\"%s\",\"allow\":true,\"rule\":\"read[0]\"}]}",
		               grants[i]);
		refused_mounts(text, NULL, "sandbox_denied", grants[i]);
		(void)snprintf(text, sizeof(text), "{\"write\":[{\"path\":\"%s\",\"rule\":\"write[0]\"}],\"read\":[]}",
		               grants[i]);
		refused_mounts(text, NULL, "sandbox_denied", grants[i]);
	}
	refused_mounts("{" GRANTS "}", "{\"/h/ws/data\":{}}", "sandbox_unavailable", "/h/ws/data");
	refused_mounts("{" GRANTS "}", "{\"/a/../etc\":{}}", "sandbox_unavailable", "/a/../etc");
	refused_mounts("{" GRANTS "}", "{\"/proc/x\":{}}", "sandbox_unavailable", "/proc/x");
	refused_mounts("{" GRANTS "}", "{\"data\":{}}", "sandbox_unavailable", "data");
}
END_TEST

START_TEST(test_sources)
{
	char *dir = suite_mkdir(), path[600], link[620];
	struct refusal r = { 0 };
	struct stat st;
	json_t *sources;

	(void)snprintf(path, sizeof(path), "%s/a", dir);
	(void)snprintf(link, sizeof(link), "%s/b", dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	sources = json_pack("[{s:s, s:I, s:I}]", "path", path, "dev", (json_int_t)st.st_dev, "ino",
	                    (json_int_t)st.st_ino);
	ck_assert_int_eq(mounts_verify(sources, &r), 0);
	/* Another of the same name, then a link, then nothing. */
	ck_assert_int_eq(rename(path, link), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_lt(mounts_verify(sources, &r), 0);
	ck_assert_str_eq(r.reason, "sandbox_denied");
	refusal_clear(&r);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(symlink(link, path), 0);
	ck_assert_int_lt(mounts_verify(sources, &r), 0);
	refusal_clear(&r);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_lt(mounts_verify(sources, &r), 0);
	refusal_clear(&r);
	json_decref(sources);
	suite_rmdir(dir);
}
END_TEST

START_TEST(test_fill)
{
	json_t *template = parse("{\"a\":{\"$\":\"x{one}y{two}\"},\"${one}\":[{\"$\":\"{two}\"},\"{one}\",1],\"b\":{\"$"
	                         "\":\"z\",\"c\":1}}");
	json_t *values = parse("{\"one\":\"1\",\"two\":\"2\"}"),
	       *want = parse("{\"a\":\"x1y2\",\"1\":[\"2\",\"{one}\",1],\"b\":{\"\":\"z\",\"c\":1}}");
	struct refusal r = { 0 };
	json_t *got = fill(template, values, &r);

	ck_assert(json_equal(got, want));
	json_decref(got);
	ck_assert_int_eq(json_object_del(values, "two"), 0);
	ck_assert_ptr_null(fill(template, values, &r));
	ck_assert_str_eq(r.subject, "two");
	refusal_clear(&r);
	json_decref(template);
	template = parse("{\"$\":\"{one\"}");
	ck_assert_ptr_null(fill(template, values, &r));
	refusal_clear(&r);
	json_decref(template);
	template = parse("{\"1\":1,\"${one}\":2}");
	ck_assert_ptr_null(fill(template, values, &r));
	refusal_clear(&r);
	json_decref(template);
	json_decref(values);
	json_decref(want);
}
END_TEST

START_TEST(test_requests)
{
	json_t *env = parse("[\"PATH=/bin\",\"LD_PRELOAD=/evil.so\",\"HTTP_PROXY=http://192.0.2.1\",\"EMPTY\"]"),
	       *mounts = json_array();
	json_t *limits = parse("{\"nano_cpus\":5,\"memory\":7,\"pids\":9}");
	json_t *values = parse("{\"attempt\":\"a\",\"plan\":\"p\",\"network\":\"NET\",\"egress\":\"OUT\",\"gateway\":"
	                       "\"10.0.0.2\",\"address\":\"10.0.0.3\"}");
	const struct create_input in = { .run = "abcdefgh",
		                         .instance = "i",
		                         .live = "/s/live/abcdefgh",
		                         .image = "sha256:1",
		                         .gateway = "sha256:2",
		                         .image_env = env,
		                         .mounts = mounts,
		                         .limits = limits,
		                         .runtime = "runc",
		                         .uid = 1000,
		                         .gid = 1001 };
	json_t *open = create_container(&in), *host, *list;
	struct refusal r = { 0 };
	json_t *request = fill(open, values, &r);

	ck_assert_ptr_nonnull(request);
	host = json_object_get(request, "HostConfig");
	list = json_object_get(request, "Env");
	ck_assert_str_eq(text_of(request, "User"), "1000:1001");
	ck_assert_str_eq(text_of(host, "NetworkMode"), "NET");
	ck_assert_int_eq(json_integer_value(json_object_get(host, "MemorySwap")), 7);
	ck_assert_int_eq(json_integer_value(json_object_get(host, "NanoCpus")), 5);
	ck_assert_int_eq(json_integer_value(json_object_get(host, "PidsLimit")), 9);
	ck_assert_str_eq(json_string_value(json_array_get(list, 0)), "HTTP_PROXY=http://10.0.0.2:3128");
	/* The image's are named, so that they are taken away; but one that is set here anyway. */
	ck_assert_uint_eq(json_array_size(list), 7 + 3);
	ck_assert_str_eq(json_string_value(json_array_get(list, 7)), "PATH");
	ck_assert_str_eq(json_string_value(json_array_get(list, 8)), "LD_PRELOAD");
	json_decref(request);
	json_decref(open);
	open = create_gateway(&in);
	request = fill(open, values, &r);
	ck_assert_uint_eq(
	        json_object_size(json_object_get(json_object_get(request, "NetworkingConfig"), "EndpointsConfig")), 2);
	json_decref(request);
	json_decref(open);
	json_decref(values);
	json_decref(env);
	json_decref(mounts);
	json_decref(limits);
}
END_TEST

START_TEST(test_passwd)
{
	struct refusal r = { 0 };
	json_t *files = passwd_files(1000, 1001, "alice", "staff", "/s/works/1/home", &r);
	const char *text = text_of(json_array_get(files, 0), "text");

	ck_assert_str_eq(text_of(json_array_get(files, 0), "name"), "etc/passwd");
	ck_assert_ptr_nonnull(strstr(text, "\nalice:x:1000:1001:alice:/s/works/1/home:/bin/sh\n"));
	ck_assert_ptr_nonnull(strstr(text_of(json_array_get(files, 1), "text"), "\nstaff:x:1001:\n"));
	json_decref(files);
	/* A name that would make a line of its own, or another root. */
	files = passwd_files(1000, 1001, "x:x:0:0::/:/bin/sh\ny", "root", "/h", &r);
	ck_assert_ptr_nonnull(
	        strstr(text_of(json_array_get(files, 0), "text"), "\nagent:x:1000:1001:agent:/h:/bin/sh\n"));
	ck_assert_ptr_nonnull(strstr(text_of(json_array_get(files, 1), "text"), "\nagent:x:1001:\n"));
	json_decref(files);
	ck_assert_ptr_null(passwd_files(1000, 1001, "a", "a", "/h:x", &r));
	ck_assert_str_eq(r.reason, "sandbox_denied");
	refusal_clear(&r);
	ck_assert_ptr_null(passwd_files(1000, 1001, "a", "a", "/h\nroot2:x:0:0", &r));
	refusal_clear(&r);
}
END_TEST

START_TEST(test_events)
{
	static const char *const bad[] = { "",
		                           "allow",
		                           "allow 1",
		                           "allow x h 1 a",
		                           "allow 1 h 1",
		                           "shout 1 x",
		                           "deny 1  1 why",
		                           "end 1 2 3 x",
		                           "lost -1",
		                           "bad 1 \x1b[2J",
		                           "sni 1",
		                           "end 1 2 3 9999999999999999999" };
	int kind;
	json_t *line = events_parse("deny 3 example.com 443 not_listed", &kind), *want;
	size_t i;

	want = parse("{\"event\":\"deny\",\"n\":3,\"host\":\"example.com\",\"port\":443,\"why\":\"not_listed\"}");
	ck_assert(json_equal(line, want));
	ck_assert_int_eq(kind, EVENT_DENY);
	json_decref(line);
	json_decref(want);
	line = events_parse("bad 1 two words", &kind);
	ck_assert_str_eq(text_of(line, "what"), "two words");
	json_decref(line);
	for (i = 0; i < COUNT(bad); i++)
		ck_assert_msg(!events_parse(bad[i], &kind), "%s", bad[i]);
}
END_TEST

/* In any pieces; more than the file's size is only counted; and the summary is always there. */
START_TEST(test_record)
{
	static const char lines[] =
	        "allow 1 example.com 443 192.0.2.1\ndeny 2 other.example 80 not_listed\nlost 4\nnonsense\n";
	char *dir = suite_mkdir(), path[600];
	struct refusal r = { 0 };
	struct events e;
	struct stat st;
	size_t i;

	(void)snprintf(path, sizeof(path), "%s/network", dir);
	ck_assert_int_eq(events_open(path, &e, &r), 0);
	for (i = 0; i < sizeof(lines) - 1; i++)
		events_feed(&e, lines + i, 1);
	ck_assert_uint_eq(e.seen[EVENT_ALLOW], 1);
	ck_assert_uint_eq(e.seen[EVENT_DENY], 1);
	ck_assert_uint_eq(e.lost, 4);
	ck_assert_uint_eq(e.malformed, 1);
	ck_assert_uint_eq(e.dropped, 0);
	for (i = 0; i < 100000; i++)
		events_feed(&e, lines, sizeof(lines) - 1);
	ck_assert_uint_gt(e.dropped, 0);
	events_close(&e);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_le(st.st_size, EVENTS_MAX);
	ck_assert_int_gt(st.st_size, EVENTS_MAX - 2048);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	/* A line that never ends costs a line. */
	ck_assert_int_eq(events_open(path, &e, &r), 0);
	for (i = 0; i < 5000; i++)
		events_feed(&e, "x", 1);
	events_feed(&e, "\nlost 1\n", 8);
	ck_assert_uint_eq(e.malformed, 1);
	ck_assert_uint_eq(e.lost, 1);
	events_close(&e);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("elsewhere", path), 0);
	ck_assert_int_lt(events_open(path, &e, &r), 0);
	refusal_clear(&r);
	suite_rmdir(dir);
}
END_TEST

START_TEST(test_live)
{
	ck_assert_uint_eq(spec_state("/home/a/state/live/abcdefgh", "abcdefgh"), 13);
	ck_assert_uint_eq(spec_state("/live/abcdefgh", "abcdefgh"), 0);
	ck_assert_uint_eq(spec_state("/s/live/abcdefgh", "abcdefgi"), 0);
	ck_assert_uint_eq(spec_state("/s/alive/abcdefgh", "abcdefgh"), 0);
	ck_assert_uint_eq(spec_state("/s/../live/abcdefgh", "abcdefgh"), 0);
	ck_assert_uint_eq(spec_state("s/live/abcdefgh", "abcdefgh"), 0);
	ck_assert_uint_eq(spec_state("/s/live/a", "a"), 0);
}
END_TEST

SUITE_MAIN("docker_spec", test_mounts, test_git, test_mounts_refused, test_sources, test_fill, test_requests,
           test_passwd, test_events, test_record, test_live)
