/* SPDX-License-Identifier: Apache-2.0 */
/** @file openconduit.h Everything an embedder includes. */
#ifndef OPENCONDUIT_H
#define OPENCONDUIT_H

#include <openconduit/broker.h>
#include <openconduit/context.h>
#include <openconduit/error.h>
#include <openconduit/plan.h>
#include <openconduit/policy.h>
#include <openconduit/queue.h>
#include <openconduit/run.h>
#include <openconduit/store.h>
#include <openconduit/token.h>
#include <openconduit/toolcall.h>
#include <openconduit/workspace.h>

#endif
