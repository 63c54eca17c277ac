/* SPDX-License-Identifier: Apache-2.0 */
/* open-conduit-guest: the one static program inside every sandbox. */
#include "guest/enter.h"

#include <stdio.h>
#include <string.h>

extern char **environ;

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return puts("open-conduit-guest " OC_VERSION) < 0;
	if (argc == 2 && !strcmp(argv[1], "enter"))
		return oc_guest_enter(environ);
	fputs("usage: open-conduit-guest enter | --version\n"
	      "It is started by open-conduit's guard, with the channel on descriptor 0.\n",
	      stderr);
	return 2;
}
