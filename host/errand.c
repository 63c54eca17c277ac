/* SPDX-License-Identifier: Apache-2.0 */
#include "errand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"

#define PATIENCE_MS 300000 /* each has a limit of its own, and a shorter one */
#define LOOK_MS     1000

struct errand {
	struct errand *next;
	char *program;
	struct child child;
	errand_fn fn; /* NULL: nobody waits */
	void *userdata;
	long long until;
};

static json_t *failure(const char *program, const char *message)
{
	const struct refusal r = { "helper_failed", program, message, "open-conduit doctor" };

	return json_pack("{s:o}", "error", host_refusal_json(&r));
}

static void tell(struct host *h, struct errand *e, json_t *answer_taken)
{
	errand_fn fn = e->fn;

	e->fn = NULL;
	if (fn)
		fn(h, answer_taken, e->userdata);
	json_decref(answer_taken);
}

static void errand_free(struct errand *e)
{
	child_forget(&e->child);
	free(e->program);
	free(e);
}

static json_t *answer_of(const struct errand *e)
{
	json_t *answer = e->child.said.failed
	                         ? NULL
	                         : json_loadb(e->child.said.data ? e->child.said.data : "", e->child.said.len, 0, NULL);

	if (json_is_object(answer))
		return answer;
	json_decref(answer);
	return failure(e->program, e->child.exited ? "it ended without an answer" : "it was killed before it answered");
}

static size_t count(const struct host *h)
{
	size_t n = 0;

	for (const struct errand *e = h->errands; e; e = e->next)
		n++;
	return n;
}

void errand_wipe(json_t *request)
{
	json_t *object = json_object_get(request, "auth");
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		if (json_is_string(value))
			explicit_bzero((char *)(uintptr_t)json_string_value(value), json_string_length(value));
	}
}

static int spawn(struct errand *e, json_t *request)
{
	const char *dirs[2], *argv[] = { e->program, NULL };
	char *text = json_dumps(request, JSON_COMPACT), *path = NULL;
	int rc = ENOMEM;

	host_provider_dirs(dirs);
	if (text && asprintf(&path, "%s/%s", dirs[1], e->program) >= 0)
		rc = child_spawn(&e->child, path, argv, NULL, text, -1);
	if (text)
		explicit_bzero(text, strlen(text));
	errand_wipe(request);
	free(text);
	free(path);
	return rc;
}

struct errand *errand_start(struct host *h, const char *program, json_t *request, errand_fn fn, void *userdata)
{
	struct errand *e = calloc(1, sizeof(*e));
	char why[160];
	int rc = ENOMEM;

	if (e) {
		*e = (struct errand){
			.program = strdup(program), .child = { .pidfd = -1, .out = -1 }, .fn = fn, .userdata = userdata
		};
		rc = !e->program || !request ? ENOMEM : count(h) >= ERRANDS_MAX ? EAGAIN : spawn(e, request);
	}
	json_decref(request);
	if (rc == 0) {
		e->until = host_mono_ms() + PATIENCE_MS;
		e->next = h->errands;
		h->errands = e;
		return e;
	}
	snprintf(why, sizeof(why), "it can't be started: %s", rc == EAGAIN ? "too many are at work" : strerror(rc));
	if (fn) {
		json_t *answer = failure(program, why);

		fn(h, answer, userdata);
		json_decref(answer);
	}
	if (e)
		errand_free(e);
	return NULL;
}

void errand_leave(struct errand *e)
{
	if (e)
		e->fn = NULL;
}

size_t errands_poll(struct host *h, struct pollfd *v)
{
	size_t n = 0;

	for (struct errand *e = h->errands; e; e = e->next) {
		v[n++] = (struct pollfd){ .fd = e->child.pidfd, .events = POLLIN };
		v[n++] = (struct pollfd){ .fd = e->child.out, .events = POLLIN };
	}
	return n;
}

void errands_turn(struct host *h)
{
	struct errand **at = &h->errands;

	while (*at) {
		struct errand *e = *at;
		bool over = child_turn(&e->child), late = !over && host_mono_ms() >= e->until;

		if (!over && !late) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		tell(h, e, over ? answer_of(e) : failure(e->program, "it has not answered in five minutes"));
		errand_free(e);
		/* What was told may have started another, at the head. */
		at = &h->errands;
	}
}

void errands_end(struct host *h)
{
	while (h->errands) {
		struct errand *e = h->errands;

		h->errands = e->next;
		errand_free(e);
	}
}

struct wait {
	json_t *answer;
	bool over;
};

static void keep(struct host *h, const json_t *answer, void *userdata)
{
	struct wait *w = userdata;

	(void)h;
	w->answer = json_deep_copy(answer);
	w->over = true;
}

json_t *errand_wait(struct host *h, const char *program, json_t *request)
{
	struct pollfd v[2 * ERRANDS_MAX];
	struct wait w = { 0 };

	(void)errand_start(h, program, request, keep, &w);
	while (!w.over) {
		(void)poll(v, (nfds_t)errands_poll(h, v), LOOK_MS);
		errands_turn(h);
	}
	return w.answer;
}
