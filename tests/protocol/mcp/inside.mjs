// SPDX-License-Identifier: Apache-2.0
// Inside a run: a script of this folder, against the toolbelt as the run's own configuration of an MCP client names it.
//   node inside.mjs SCRIPT [ARGUMENT...]
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const { mcpServers } = JSON.parse(readFileSync(path.join(process.env.OPEN_CONDUIT_RUN_DIR, 'mcp.json'), 'utf8'));
const { command, args } = mcpServers['open-conduit'];
if (args[args.length - 1] !== process.env.OPEN_CONDUIT_TOOLBELT) {
  console.log(`not ok - mcp.json and OPEN_CONDUIT_TOOLBELT name the same: ${args} ${process.env.OPEN_CONDUIT_TOOLBELT}`);
  process.exit(1);
}
process.exit(spawnSync(process.execPath, [...process.argv.slice(2), command, ...args], { stdio: 'inherit' }).status ?? 1);
