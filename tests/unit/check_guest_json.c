/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's reader of JSON, by what it makes of a toolbelt's answer: what is none is no answer, whatever is in it. */
#include <stdio.h>
#include <string.h>

#include "guest/credential_answer.h"
#include "suite.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

START_TEST(test_json)
{
	static const struct {
		const char *line;
		enum oc_credential_outcome want;
	} lines[] = {
		{ " { \"id\" : 1 , \"result\" : { \"structuredContent\" : { \"username\":\"\\u0075\",\"password\":"
		  "\"\\u0070\\/\" } } } ",
		  OC_CREDENTIAL_GIVEN },
		{ "{\"id\":1,\"result\":{\"structuredContent\":{\"username\":\"u\",\"password\":\"p\",\"x\":[[],{},"
		  "null,true,false,-0,1e9,1.5E-3,\"\\ud83d\\ude00\"]}}}",
		  OC_CREDENTIAL_GIVEN },
		{ "{\"id\":1,\"result\":{\"structuredContent\":{\"username\":\"u\",\"password\":\"p\"}}}x",
		  OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"id\":1,\"result\":{\"structuredContent\":{\"username\":\"u\",\"password\":\"p\"}}}",
		  OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"result\":{\"structuredContent\":{\"username\":\"u\",\"password\":\"p\"}},\"error\":{}}",
		  OC_CREDENTIAL_NONE },
		{ "{\"result\":{\"structuredContent\":{\"username\":\"u\",\"password\":\"p\"}}}", OC_CREDENTIAL_NONE },
		{ "{\"id\":01,\"result\":{\"isError\":true}}", OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"result\":{\"isError\":true}}", OC_CREDENTIAL_REFUSED },
		{ "{\"id\":1,\"result\":{\"isError\":1}}", OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"result\":{\"isError\":true,\"x\":01}}", OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"result\":{\"isError\":true,\"x\":1.}}", OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"result\":{\"isError\":true,\"x\":\"\\x\"}}", OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"result\":{\"isError\":true,\"x\":\"\\ud800\"}}", OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"result\":{\"isError\":true,\"x\":\"\n\"}}", OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"result\":{\"isError\":true,}}", OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"result\":{\"isError\":true}", OC_CREDENTIAL_NONE },
		{ "{\"id\":1,\"error\":{\"message\":\"m\"}}", OC_CREDENTIAL_ERROR },
		{ "{\"id\":1,\"error\":{\"message\":\"Unknown tool: x\"}}", OC_CREDENTIAL_UNKNOWN },
		{ "", OC_CREDENTIAL_NONE },
	};
	struct oc_credential_answer answer;
	char deep[400];

	for (size_t i = 0; i < COUNT(lines); i++)
		ck_assert_msg(oc_credential_answer(lines[i].line, strlen(lines[i].line), &answer) == lines[i].want,
		              "%s", lines[i].line);
	for (size_t depth = 30; depth < 40; depth += 9) {
		memset(deep, '[', sizeof(deep));
		memcpy(deep, "{\"id\":1,\"result\":{\"x\":", 22);
		memset(deep + 22 + depth, ']', depth);
		(void)snprintf(deep + 22 + 2 * depth, 40, ",\"isError\":true}}");
		ck_assert_int_eq(oc_credential_answer(deep, strlen(deep), &answer),
		                 depth == 30 ? OC_CREDENTIAL_REFUSED : OC_CREDENTIAL_NONE);
	}
}
END_TEST

SUITE_MAIN("guest_json", test_json)
