/* SPDX-License-Identifier: Apache-2.0 */
/* What a run asked its gateway for, told from the lines of its provider: counts, bytes, and what can't be read is counted. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan_fixture.h"
#include "store/hosts.h"
#include "suite.h"

static struct fixture f;

static void put(oc_store *store, const char *text)
{
	oc_cleanup(oc_closep) int dir = oc_store_run_dir(store, "hostsrun", true, NULL);
	oc_cleanup(oc_closep) int fd = openat(dir, "network", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static char *told(oc_store *store)
{
	json_t *network = NULL;
	char *text;

	OK(oc_store_hosts(store, "hostsrun", &network, &err));
	text = json_dumps(network, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	json_decref(network);
	return text;
}

static void tells(const char *lines, const char *expected)
{
	oc_store *store;
	char *text;

	fixture_open(&f);
	store = fixture_store(&f);
	put(store, lines);
	text = told(store);
	ck_assert_str_eq(text, expected);
	free(text);
	oc_store_free(store);
	fixture_close(&f);
}

START_TEST(test_counts)
{
	tells("{\"event\":\"allow\",\"n\":1,\"host\":\"a.example\",\"port\":443,\"address\":\"20.0.0.1\"}\n"
	      "{\"event\":\"allow\",\"n\":2,\"host\":\"a.example\",\"port\":443,\"address\":\"20.0.0.1\"}\n"
	      "{\"event\":\"deny\",\"n\":3,\"host\":\"a.example\",\"port\":80,\"why\":\"not_listed\"}\n"
	      "{\"event\":\"sni\",\"n\":2,\"name\":\"b.example\"}\n"
	      "{\"event\":\"end\",\"n\":1,\"up\":5,\"down\":7,\"ms\":1}\n"
	      "{\"event\":\"end\",\"n\":1,\"up\":5,\"down\":7,\"ms\":1}\n" /* a number is used once */
	      "{\"event\":\"end\",\"n\":2,\"up\":10,\"down\":20,\"ms\":1}\n"
	      "{\"event\":\"fail\",\"n\":4,\"host\":\"a.example\",\"port\":443,\"why\":\"refused\"}\n"
	      "{\"event\":\"bad\",\"n\":5,\"what\":\"no request\"}\n",
	      "{\"hosts\":[{\"allowed\":2,\"denied\":0,\"down\":27,\"failed\":1,\"host\":\"a.example\",\"port\":443,"
	      "\"up\":"
	      "15,\"why\":\"refused\"},{\"allowed\":0,\"denied\":1,\"down\":0,\"failed\":0,\"host\":\"a.example\","
	      "\"port\":"
	      "80,\"up\":0,\"why\":\"not_listed\"}],\"lost\":0}");
}
END_TEST

START_TEST(test_what_is_lost)
{
	tells("no JSON\n[1]\n{\"event\":\"deny\",\"n\":1}\n"
	      "{\"event\":\"summary\",\"lost\":2,\"dropped\":3,\"malformed\":4}\n"
	      "{\"event\":\"deny\",\"n\":1,\"host\":\"half",
	      "{\"hosts\":[],\"lost\":12}");
}
END_TEST

START_TEST(test_too_many)
{
	oc_store *store;
	json_t *network = NULL;
	char *text = malloc(1500 * 80), *at = text;

	ck_assert_ptr_nonnull(text);
	for (int i = 0; i < 1500; i++)
		at += snprintf(at, 80,
		               "{\"event\":\"deny\",\"n\":%d,\"host\":\"h%d.example\",\"port\":1,\"why\":\"x\"}\n", i,
		               i);
	fixture_open(&f);
	store = fixture_store(&f);
	put(store, text);
	OK(oc_store_hosts(store, "hostsrun", &network, &err));
	ck_assert_uint_eq(json_array_size(json_object_get(network, "hosts")), 1000);
	ck_assert_int_eq(json_integer_value(json_object_get(network, "lost")), 500);
	json_decref(network);
	free(text);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

START_TEST(test_none)
{
	oc_store *store;
	json_t *network = NULL;

	fixture_open(&f);
	store = fixture_store(&f);
	OK(oc_store_hosts(store, "hostsrun", &network, &err));
	ck_assert_ptr_null(network);
	oc_store_free(store);
	fixture_close(&f);
}
END_TEST

SUITE_MAIN("store_hosts", test_counts, test_what_is_lost, test_too_many, test_none)
