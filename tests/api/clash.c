/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody else's library that happens to use our prefix.  Being called at all is the failure. */
static int called;

int clash_calls(void);
int clash_calls(void)
{
	return called;
}

#define CLASH(name)                                                                                                    \
	long name(void);                                                                                               \
	long name(void)                                                                                                \
	{                                                                                                              \
		called++;                                                                                              \
		return -1;                                                                                             \
	}

CLASH(oc_fail)
CLASH(oc_refuse)
CLASH(oc_buf_add)
CLASH(oc_json_parse)
CLASH(oc_loop_new)
CLASH(oc_loop_dispatch)
CLASH(oc_open)
CLASH(oc_close)
CLASH(oc_error_free)
CLASH(oc_error_code)
CLASH(oc_plan_free)
CLASH(oc_plan_load)
CLASH(oc_policy_free)
CLASH(oc_run_free)
