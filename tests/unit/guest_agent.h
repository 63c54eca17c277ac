/* SPDX-License-Identifier: Apache-2.0 */
/* What the test does when it is itself the agent: `agent NAME [ARGUMENT]`. */
#ifndef OC_TESTS_GUEST_AGENT_H
#define OC_TESTS_GUEST_AGENT_H

int guest_agent(int argc, char **argv);

#endif
