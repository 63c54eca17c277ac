// SPDX-License-Identifier: Apache-2.0
// The official conformance suite against a server on stdio, through bridge.mjs: every scenario that applies to a server that
// has tools and nothing else.  OC_NPM_MCP: the folder whose node_modules has @modelcontextprotocol/conformance.
//   node conformance.mjs [--only VERSION:SCENARIO] COMMAND [ARGUMENT...]      a TAP line for each
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const suite = path.join(process.env.OC_NPM_MCP, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const calls = ['tools-list', 'tools-call-simple-text', 'tools-call-error', 'tools-call-with-progress', 'tools-call-image', 'tools-call-audio',
  'tools-call-embedded-resource', 'tools-call-mixed-content'];
const scenarios = [
  ...['server-initialize', 'ping', ...calls].map((s) => ['2025-11-25', s]),
  ...['server-stateless', ...calls, 'caching', 'input-required-result-unsupported-methods'].map((s) => ['2026-07-28', s]),
];
// What is of elicitation, of logging, of prompts and of resources, none of which is offered.
const notOurs = `server:
  - server-stateless:sep-2575-http-server-no-independent-requests-on-stream
  - server-stateless:sep-2575-server-no-log-without-loglevel
  - caching:sep-2549-prompts-list-caching-hints
  - caching:sep-2549-resources-list-caching-hints
  - caching:sep-2549-resources-templates-list-caching-hints
`;

let argv = process.argv.slice(2);
let only;
if (argv[0] === '--only') {
  only = argv[1];
  argv = argv.slice(2);
}
const work = mkdtempSync(path.join(tmpdir(), 'conformance-'));
const expected = path.join(work, 'expected.yml');
writeFileSync(expected, notOurs);
const bridge = spawn(process.execPath, [path.join(here, 'bridge.mjs'), ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
const lines = readline.createInterface({ input: bridge.stdout });
const port = await new Promise((resolve, reject) => {
  lines.once('line', resolve);
  bridge.once('exit', (status) => reject(new Error(`the bridge ended with ${status}`)));
});

function run(version, scenario) {
  return new Promise((resolve) => {
    execFile(process.execPath, [suite, 'server', '--url', `http://127.0.0.1:${port}/mcp`, '--spec-version', version, '--scenario', scenario,
      '--expected-failures', expected, '-o', path.join(work, 'results')], { timeout: 120000, maxBuffer: 1 << 24 },
    (error, stdout, stderr) => resolve({ error, text: `${stdout}${stderr}`.replace(/\x1b\[[0-9;]*m/g, '') }));
  });
}

let failed = 0;
const todo = scenarios.filter(([version, scenario]) => only === undefined || only === `${version}:${scenario}`);
const none = todo.length === 0;
async function worker() {
  while (todo.length) {
    const [version, scenario] = todo.shift();
    const { error, text } = await run(version, scenario);
    if (error) {
      failed++;
      console.log(text.split('\n').filter((l) => /FAILURE|rror|\u2717/.test(l)).slice(0, 10).map((l) => `    ${l}`).join('\n'));
    }
    console.log(`${error ? 'not ok' : 'ok'} - ${process.env.OC_TEST_LABEL ?? 'conformance'}: ${version} ${scenario}`);
  }
}
// A scenario is mostly the start of a process.
await Promise.all(Array.from({ length: Number(process.env.OC_JOBS ?? 1) }, worker));
bridge.kill();
rmSync(work, { recursive: true, force: true });
process.exit(failed || none ? 1 : 0);
