/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#include <string.h>

#include "table.h"

/* Names as they may be listed: first the operations, in order of their bits, then the toolsets.  open-conduit-config(5)
 * has the same list, and a test compares them. */
enum {
	CHECK_LIST,
	GIT_CREDENTIAL,
	ISSUE_COMMENT,
	ISSUE_GET,
	ISSUE_LABEL,
	PULL_COMMENT,
	PULL_CREATE,
	PULL_GET,
	PULL_UPDATE,
	RUN_POLICY,
	WORK_GET,
	WORK_NOTE,
	WORK_STATUS,
	WORKSPACE_SAVED,
	OPERATIONS,
	SET_AUTHOR = OPERATIONS,
	SET_WORKSPACE,
	SET_WORK,
	NAMES
};

const char *const operation_names[] = {
	[CHECK_LIST] = "github.check.list",
	[GIT_CREDENTIAL] = "github.git.credential",
	[ISSUE_COMMENT] = "github.issue.comment",
	[ISSUE_GET] = "github.issue.get",
	[ISSUE_LABEL] = "github.issue.label",
	[PULL_COMMENT] = "github.pull.comment",
	[PULL_CREATE] = "github.pull.create",
	[PULL_GET] = "github.pull.get",
	[PULL_UPDATE] = "github.pull.update",
	[RUN_POLICY] = "run.policy",
	[WORK_GET] = "work.get",
	[WORK_NOTE] = "work.note",
	[WORK_STATUS] = "work.status",
	[WORKSPACE_SAVED] = "workspace.saved",
	[SET_AUTHOR] = "@github.author",
	[SET_WORKSPACE] = "@github.workspace",
	[SET_WORK] = "@work",
	[NAMES] = NULL,
};

#define BIT(n) ((operation_set)1 << (n))
#define WORKS  (BIT(RUN_POLICY) | BIT(WORK_GET) | BIT(WORK_NOTE) | BIT(WORK_STATUS) | BIT(WORKSPACE_SAVED))
static const operation_set toolsets[] = {
	/* What an author of a change does: reads the issue, proposes the change, talks about both, and knows its Work. */
	[SET_AUTHOR - OPERATIONS] = BIT(CHECK_LIST) | BIT(ISSUE_COMMENT) | BIT(ISSUE_GET) | BIT(ISSUE_LABEL) |
	                            BIT(PULL_COMMENT) | BIT(PULL_CREATE) | BIT(PULL_GET) | BIT(PULL_UPDATE) | WORKS,
	/* What the workspace itself needs: git signs in by it.  Agents never call it. */
	[SET_WORKSPACE - OPERATIONS] = BIT(GIT_CREDENTIAL),
	/* What needs no service: the run's own Work. */
	[SET_WORK - OPERATIONS] = WORKS,
};

operation_set operation_expand(const char *name)
{
	for (size_t i = 0; i < NAMES; i++)
		if (!strcmp(operation_names[i], name))
			return i < OPERATIONS ? BIT(i) : toolsets[i - OPERATIONS];
	return 0;
}

operation_set operation_expand_all(const struct config_texts *names)
{
	operation_set set = 0;

	for (size_t i = 0; i < names->n; i++)
		set |= operation_expand(names->v[i]);
	return set;
}

struct config_texts operation_list(struct arena *a, operation_set set)
{
	struct config_texts list = { .v = arena_get(a, (OPERATIONS + 1) * sizeof(*list.v)) };

	for (size_t i = 0; list.v && i < OPERATIONS; i++)
		if (set & BIT(i))
			list.v[list.n++] = operation_names[i];
	return list;
}

const char *operation_first(operation_set set)
{
	for (size_t i = 0; i < OPERATIONS; i++)
		if (set & BIT(i))
			return operation_names[i];
	return NULL;
}

bool operation_needs_connection(operation_set set)
{
	return (set & ~WORKS) != 0;
}

const char *operation_toolset(const char *operation)
{
	operation_set one = operation_expand(operation);

	for (size_t i = OPERATIONS; i < NAMES; i++)
		if (one && (toolsets[i - OPERATIONS] & one) == one)
			return operation_names[i];
	return NULL;
}
