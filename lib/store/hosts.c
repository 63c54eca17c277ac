/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hosts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

#define FILE_MAX  (4u << 20)
#define LINE_SIZE 4096
#define HOSTS_MAX 1000
#define KEY_SIZE  300

struct hosts {
	json_t *list;
	json_t *by_key;  /* "HOST PORT": its entry */
	json_t *by_conn; /* the number of a connection that was allowed: its entry */
	int64_t lost;
};

static int64_t number(const json_t *line, const char *member)
{
	return oc_json_integer(line, member, 0);
}

static bool add(json_t *entry, const char *member, int64_t n)
{
	return oc_json_set(entry, member, json_integer(number(entry, member) + n));
}

static json_t *new_entry(const char *host, int64_t port)
{
	return json_pack("{s:s, s:I, s:i, s:i, s:i, s:i, s:i, s:n}", "host", host, "port", (json_int_t)port, "allowed",
	                 0, "denied", 0, "failed", 0, "up", 0, "down", 0, "why");
}

/* Borrowed; NULL: one more than is shown, or no memory. */
static json_t *entry_of(struct hosts *h, const json_t *line)
{
	const char *host = oc_json_text(line, "host");
	char key[KEY_SIZE];
	json_t *entry;

	if (!host || snprintf(key, sizeof(key), "%s %" PRId64, host, number(line, "port")) >= (int)sizeof(key))
		return NULL;
	entry = json_object_get(h->by_key, key);
	if (entry || json_array_size(h->list) >= HOSTS_MAX)
		return entry;
	entry = new_entry(host, number(line, "port"));
	if (!entry || !oc_json_append(h->list, entry) || !oc_json_set(h->by_key, key, json_incref(entry)))
		return NULL;
	return entry;
}

static const char *conn_of(const json_t *line, char key[24])
{
	snprintf(key, 24, "%" PRId64, number(line, "n"));
	return key;
}

static bool take_decision(struct hosts *h, const json_t *line, const char *counter)
{
	json_t *entry = entry_of(h, line);
	const char *why = oc_json_text(line, "why");
	char key[24];

	if (!entry) {
		h->lost++;
		return true;
	}
	if (!add(entry, counter, 1) || (why && !oc_json_set_string(entry, "why", why)))
		return false;
	return strcmp(counter, "allowed") != 0 || oc_json_set(h->by_conn, conn_of(line, key), json_incref(entry));
}

static bool take_end(struct hosts *h, const json_t *line)
{
	char key[24];
	json_t *entry = json_object_get(h->by_conn, conn_of(line, key));
	bool ok = !entry || (add(entry, "up", number(line, "up")) && add(entry, "down", number(line, "down")));

	(void)json_object_del(h->by_conn, key);
	return ok;
}

static bool take_line(struct hosts *h, const char *text, size_t len)
{
	static const struct {
		const char *event, *counter;
	} decisions[] = { { "allow", "allowed" }, { "deny", "denied" }, { "fail", "failed" } };
	oc_cleanup(oc_json_decrefp) json_t *line = NULL;
	const char *event;
	size_t i;

	if (len > LINE_SIZE || oc_json_parse(text, len, LINE_SIZE, "network", &line, NULL) < 0 ||
	    !(event = oc_json_text(line, "event"))) {
		h->lost++;
		return true;
	}
	for (i = 0; i < OC_COUNT(decisions); i++)
		if (strcmp(event, decisions[i].event) == 0)
			return take_decision(h, line, decisions[i].counter);
	if (strcmp(event, "summary") == 0)
		h->lost += number(line, "lost") + number(line, "dropped") + number(line, "malformed");
	return strcmp(event, "end") != 0 || take_end(h, line);
}

/* A last line that isn't whole is one that is being written. */
static bool take_lines(struct hosts *h, const char *text, size_t len)
{
	const char *end;

	for (; len > 0 && (end = memchr(text, '\n', len)); len -= (size_t)(end - text) + 1, text = end + 1)
		if (!take_line(h, text, (size_t)(end - text)))
			return false;
	return true;
}

static int fold(const struct oc_buf *text, json_t **out, oc_error **err)
{
	struct hosts h = { json_array(), json_object(), json_object(), 0 };
	bool ok = h.list && h.by_key && h.by_conn && take_lines(&h, text->data ? text->data : "", text->len);

	*out = ok ? json_pack("{s:O, s:I}", "hosts", h.list, "lost", (json_int_t)h.lost) : NULL;
	json_decref(h.list);
	json_decref(h.by_key);
	json_decref(h.by_conn);
	return *out ? 0 : oc_nomem(err);
}

int oc_store_hosts(oc_store *store, const char *run, json_t **out, oc_error **err)
{
	oc_cleanup(oc_closep) int dir = oc_store_run_dir(store, run, false, NULL);
	oc_cleanup(oc_buf_free) struct oc_buf text = { 0 };
	int rc;

	*out = NULL;
	oc_buf_init(&text, FILE_MAX + 1);
	rc = dir < 0 ? -ENOENT : oc_read_file(dir, "network", FILE_MAX, &text);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return oc_fail(err, OC_EIO, -rc, "what run %s asked its gateway for can't be read", run);
	return fold(&text, out, err);
}
