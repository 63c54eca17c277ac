/* SPDX-License-Identifier: Apache-2.0 */
/* Where a context leads: by the CLI's own files, and by nobody else's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files.h"
#include "endpoint.h"
#include "suite.h"

static char *home;

static void setup(void)
{
	home = suite_mkdir();
	ck_assert_int_eq(clearenv(), 0);
	ck_assert_int_eq(setenv("HOME", home, 1), 0);
}

static void put(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

/* A directory and all above it. */
static void make(const char *path)
{
	char *copy = strdup(path), *slash = copy;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		(void)mkdir(copy, 0700);
		*slash = '/';
	}
	(void)mkdir(copy, 0700);
	free(copy);
}

static char *context_file(const char *config, const char *context, const char *kind, const char *name)
{
	cleanup_free char *digest = digest_text(context);
	char *dir = format("%s/contexts/%s/%s", config, kind, digest), *file;

	make(dir);
	file = format("%s/%s", dir, name);
	free(dir);
	return file;
}

static void put_meta(const char *context, const char *text)
{
	cleanup_free char *config = format("%s/.docker", home), *file = NULL;

	file = context_file(config, context, "meta", "meta.json");
	put(file, text, 0644);
}

/* NULL: found as wanted; else the message, free(). */
static char *find(const char *context, const char *want)
{
	struct endpoint e;
	struct refusal r = { 0 };
	char *message = NULL;

	if (endpoint_find(context, &e, &r) == 0) {
		ck_assert_ptr_nonnull(want);
		ck_assert_str_eq(e.host, want);
		ck_assert_str_eq(e.context, context);
		endpoint_clear(&e);
	} else {
		ck_assert_str_eq(r.reason, "sandbox_unavailable");
		ck_assert_ptr_nonnull(r.fix);
		ck_assert_ptr_nonnull(r.subject);
		message = format("%s | %s", r.message, r.fix);
	}
	refusal_clear(&r);
	return message;
}

static void refused(const char *context, const char *why)
{
	cleanup_free char *message = find(context, NULL);

	ck_assert_ptr_nonnull(message);
	ck_assert_msg(strstr(message, why) != NULL, "\"%s\" lacks \"%s\"", message, why);
}

#define META(name, host)                                                                                               \
	"{\"Name\":\"" name "\",\"Metadata\":{},\"Endpoints\":{\"docker\":{\"Host\":\"" host                           \
	"\",\"SkipTLSVerify\":false}}}"

START_TEST(named)
{
	cleanup_free char *other = NULL, *file = NULL;

	setup();
	put_meta("orbstack", META("orbstack", "unix:///run/orb.sock"));
	ck_assert_ptr_null(find("orbstack", "unix:///run/orb.sock"));
	refused("orbstack2", "there is no Docker context");
	refused("orbstack2", "DOCKER_CONFIG");
	/* Elsewhere, and then nowhere else. */
	other = format("%s/other", home);
	file = context_file(other, "rootless", "meta", "meta.json");
	put(file, META("rootless", "unix:///run/user/7/docker.sock"), 0600);
	refused("rootless", "there is no Docker context");
	ck_assert_int_eq(setenv("DOCKER_CONFIG", other, 1), 0);
	ck_assert_ptr_null(find("rootless", "unix:///run/user/7/docker.sock"));
	refused("orbstack", "there is no Docker context");
	suite_rmdir(home);
}
END_TEST

START_TEST(names_of_contexts)
{
	setup();
	refused("", "no name");
	refused("x", "no name");
	refused("-x", "no name");
	refused("../x", "no name");
	refused("a b", "no name");
	put_meta("a_.+-b", META("a_.+-b", "unix:///x"));
	ck_assert_ptr_null(find("a_.+-b", "unix:///x"));
	suite_rmdir(home);
}
END_TEST

START_TEST(descriptions_that_are_none)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"Name\":\"ctx\"}",
		META("other", "unix:///x"),
		"{\"Name\":\"ctx\",\"Endpoints\":{\"docker\":{\"Host\":7}}}",
		"{\"Name\":\"ctx\",\"Endpoints\":{\"docker\":{\"Host\":\"unix:///x\",\"SkipTLSVerify\":\"no\"}}}",
		"{\"Name\":\"ctx\",\"Name\":\"ctx\",\"Endpoints\":{\"docker\":{\"Host\":\"unix:///x\"}}}",
	};

	setup();
	for (size_t i = 0; i < COUNT(bad); i++) {
		cleanup_free char *message = NULL;

		put_meta("ctx", bad[i]);
		message = find("ctx", NULL);
		ck_assert_msg(message != NULL, "%s", bad[i]);
	}
	put_meta("ctx", META("ctx", "unix:///x"));
	ck_assert_ptr_null(find("ctx", "unix:///x"));
	suite_rmdir(home);
}
END_TEST

/* What others could write names no engine; what is a link is judged by where it leads. */
START_TEST(whose_file)
{
	cleanup_free char *config = NULL, *file = NULL, *target = NULL;

	setup();
	config = format("%s/.docker", home);
	file = context_file(config, "ctx", "meta", "meta.json");
	put(file, META("ctx", "unix:///x"), 0644);
	ck_assert_ptr_null(find("ctx", "unix:///x"));
	ck_assert_int_eq(chmod(file, 0664), 0);
	refused("ctx", "only you, or root");
	ck_assert_int_eq(chmod(file, 0646), 0);
	refused("ctx", "only you, or root");
	target = format("%s/elsewhere", home);
	ck_assert_int_eq(chmod(file, 0644), 0);
	ck_assert_int_eq(rename(file, target), 0);
	ck_assert_int_eq(symlink(target, file), 0);
	ck_assert_ptr_null(find("ctx", "unix:///x"));
	ck_assert_int_eq(chmod(target, 0666), 0);
	refused("ctx", "only you, or root");
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(target, 0644), 0);
		ck_assert_int_eq(chown(target, 4242, 4242), 0);
		refused("ctx", "only you, or root");
	}
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(mkfifo(file, 0600), 0);
	refused("ctx", "can't be used");
	suite_rmdir(home);
}
END_TEST

static const struct {
	const char *host;
	bool here;
} hosts[] = {
	{ "unix:///run/docker.sock", true },
	{ "unix://run/docker.sock", false },
	{ "unix://", false },
	{ "unix:///"
	  "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
	  "8",
	  false },
	{ "tcp://127.0.0.1:2375", true },
	{ "tcp://127.0.0.1:0", false },
	{ "tcp://127.0.0.1", false },
	{ "tcp://127.0.0.1:2375/x", false },
	{ "tcp://[::1]:2376", true },
	{ "tcp://localhost:2375", false },
	{ "tcp://127.0.0.1.example.com:2375", false },
	{ "tcp://192.0.2.7:2375", false },
	{ "tcp://127.0.0.1@192.0.2.7:2375", false },
	{ "ssh://me@box", false },
	{ "http://127.0.0.1:2375", false },
	{ "fd://", false },
	{ "", false },
};

START_TEST(off_this_machine)
{
	setup();
	for (size_t i = 0; i < COUNT(hosts); i++) {
		cleanup_free char *meta = format(META("ctx", "%s"), hosts[i].host), *message = NULL;

		put_meta("ctx", meta);
		message = find("ctx", hosts[i].here ? hosts[i].host : NULL);
		ck_assert_msg(!message == hosts[i].here, "%s: %s", hosts[i].host, message ? message : "accepted");
	}
	put_meta("ctx", META("ctx", "ssh://me@box"));
	refused("ctx", "leads off this machine");
	suite_rmdir(home);
}
END_TEST

START_TEST(tls)
{
	cleanup_free char *config = NULL, *ca = NULL, *key = NULL;
	struct endpoint e;
	struct refusal r = { 0 };

	setup();
	put_meta("ctx", META("ctx", "tcp://127.0.0.1:2376"));
	config = format("%s/.docker", home);
	ca = context_file(config, "ctx", "tls", "docker/ca.pem");
	key = context_file(config, "ctx", "tls", "docker/key.pem");
	key[strlen(key) - strlen("/key.pem")] = '\0';
	make(key);
	key[strlen(key)] = '/';
	put(ca, "x", 0644);
	put(key, "x", 0600);
	ck_assert_int_eq(endpoint_find("ctx", &e, &r), 0);
	ck_assert_str_eq(e.ca, ca);
	ck_assert_str_eq(e.key, key);
	ck_assert_ptr_null(e.cert);
	endpoint_clear(&e);
	ck_assert_int_eq(chmod(key, 0666), 0);
	refused("ctx", "key.pem");
	suite_rmdir(home);
}
END_TEST

START_TEST(the_default)
{
	setup();
	/* Named or not, it is in no file. */
	put_meta("default", META("default", "unix:///elsewhere"));
	ck_assert_ptr_null(find("default", "unix:///var/run/docker.sock"));
	ck_assert_int_eq(setenv("DOCKER_HOST", "unix:///run/x.sock", 1), 0);
	ck_assert_ptr_null(find("default", "unix:///run/x.sock"));
	ck_assert_int_eq(setenv("DOCKER_HOST", "ssh://box", 1), 0);
	refused("default", "leads off this machine");
	ck_assert_int_eq(setenv("DOCKER_HOST", "", 1), 0);
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "/run/user/7", 1), 0);
	if (access("/var/run/docker.sock", F_OK) < 0)
		ck_assert_ptr_null(find("default", "unix:///run/user/7/docker.sock"));
	else
		ck_assert_ptr_null(find("default", "unix:///var/run/docker.sock"));
	suite_rmdir(home);
}
END_TEST

START_TEST(pinned)
{
	static const char *const bad[] = {
		"{}",
		"{\"context\":\"c\",\"host\":\"unix:///x\",\"ca\":null,\"cert\":null,\"key\":null}",
		"{\"context\":\"c\",\"host\":\"ssh://x\",\"ca\":null,\"cert\":null,\"key\":null,\"skip_verify\":false}",
		"{\"context\":null,\"host\":\"unix:///"
		"x\",\"ca\":null,\"cert\":null,\"key\":null,\"skip_verify\":false}",
		"{\"context\":\"c\",\"host\":\"unix:///x\",\"ca\":1,\"cert\":null,\"key\":null,\"skip_verify\":false}",
		"{\"context\":\"c\",\"host\":\"unix:///"
		"x\",\"ca\":null,\"cert\":null,\"key\":null,\"skip_verify\":false,\"x\":1}",
	};
	struct endpoint e = { (char *)"ctx", (char *)"tcp://127.0.0.1:1", (char *)"/ca", NULL, (char *)"/key", true },
	                back;
	cleanup_json json_t *json = endpoint_json(&e);
	struct refusal r = { 0 };

	ck_assert_int_eq(endpoint_from_json(json, &back, &r), 0);
	ck_assert_str_eq(back.context, "ctx");
	ck_assert_str_eq(back.host, "tcp://127.0.0.1:1");
	ck_assert_str_eq(back.ca, "/ca");
	ck_assert_ptr_null(back.cert);
	ck_assert_str_eq(back.key, "/key");
	ck_assert(back.skip_verify);
	endpoint_clear(&back);
	for (size_t i = 0; i < COUNT(bad); i++) {
		cleanup_json json_t *one = json_loads(bad[i], 0, NULL);

		ck_assert_ptr_nonnull(one);
		ck_assert_msg(endpoint_from_json(one, &back, &r) < 0, "%s", bad[i]);
		refusal_clear(&r);
	}
}
END_TEST

SUITE_MAIN("docker_endpoint", named, names_of_contexts, descriptions_that_are_none, whose_file, off_this_machine, tls,
           the_default, pinned)
