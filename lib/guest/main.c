/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-guest: the one static program inside every sandbox. */
#include "guest/credential.h"
#include "guest/enter.h"
#include "guest/mcp.h"
#include "guest/try.h"

#include <stdio.h>
#include <string.h>

extern char **environ;

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return puts("open-conduit-guest " OC_VERSION) < 0;
	if (argc == 2 && !strcmp(argv[1], "enter"))
		return oc_guest_enter(environ, 0);
	if (argc == 3 && !strcmp(argv[1], "enter")) {
		int channel = oc_guest_meet(argv[2]);

		return channel < 0 ? 1 : oc_guest_enter(environ, channel);
	}
	if (argc == 3 && !strcmp(argv[1], "mcp"))
		return oc_guest_mcp(argv[2]);
	if (argc == 6 && !strcmp(argv[1], "credential"))
		return oc_guest_credential(argv[2], argv[3], argv[4], argv[5]);
	if (argc >= 4 && !strcmp(argv[1], "try"))
		return oc_guest_try(argv[2], argv[3], argv + 4);
	fputs("usage: open-conduit-guest enter [SOCKET] | mcp ADDRESS | try SOCKET FILE TRY… | --version\n"
	      "       open-conduit-guest credential ADDRESS BASE REPOSITORY OPERATION\n"
	      "enter: started by open-conduit's guard, with the channel on descriptor 0, or to be had at SOCKET\n"
	      "mcp:   started by an agent: its run's toolbelt, as an MCP server on stdio\n"
	      "credential: started by git, as its credential helper: signs in to REPOSITORY of BASE, https://HOST\n"
	      "try:   started by a container provider's check, in a container\n",
	      stderr);
	return 2;
}
