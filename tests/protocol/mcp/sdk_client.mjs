// SPDX-License-Identifier: Apache-2.0
// The official SDKs as clients of a server on stdio that offers belt_tools.h.  OC_NPM_MCP: the folder whose node_modules has
// @modelcontextprotocol/sdk (v1) and /client (v2).
//   node sdk_client.mjs v1|legacy|auto|2026-07-28 COMMAND [ARGUMENT...]
// Prints what doesn't hold and ends with 1, or one line.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [mode, command, ...args] = process.argv.slice(2);
const require = createRequire(`${process.env.OC_NPM_MCP}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const v1 = mode === 'v1';
const legacy = v1 || mode === 'legacy';
const options = v1 ? {} : { versionNegotiation: { mode: /^\d/.test(mode) ? { pin: mode } : mode } };
const { Client } = await load(v1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StdioClientTransport } = await load(v1 ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio');

const client = new Client({ name: 'open-conduit-test', version: '1' }, options);
const transport = new StdioClientTransport({ command, args, stderr: 'inherit', env: { ...process.env } });
const began = Date.now();
await client.connect(transport);
// A server that says nothing to the probe is waited for a minute.
assert.ok(Date.now() - began < 20000, `connected after ${Date.now() - began} ms`);
assert.equal(client.getServerVersion()?.name, 'open-conduit');
assert.equal(client.getInstructions(), 'Tools for tests.');
if (!v1)
  assert.equal(client.getNegotiatedProtocolVersion(), legacy ? '2025-11-25' : '2026-07-28');

const tools = [];
let cursor;
do {
  const page = await client.listTools(cursor === undefined ? undefined : { cursor });
  tools.push(...page.tools);
  cursor = page.nextCursor;
} while (cursor !== undefined);
assert.deepEqual(tools.slice(0, 3).map((t) => t.name), ['echo', 'slow', 'append']);
assert.equal(new Set(tools.map((t) => t.name)).size, tools.length);
assert.equal(tools[0].annotations.readOnlyHint, true);
assert.ok(tools.every((t) => !('requires' in t)), 'what a tool requires is nobody else\'s business');

const call = (params, opts) => (v1 ? client.callTool(params, undefined, opts) : client.callTool(params, opts));
const text = 'h\u00e9\u{1F600}\u2028\n"\\';
const said = await call({ name: 'echo', arguments: { text } });
assert.equal(said.structuredContent.echo, text);
assert.equal(JSON.parse(said.content[0].text).text, text);
assert.notEqual(said.isError, true);

// Large, both ways: more than any one read.
const large = 'x'.repeat(400000);
assert.equal((await call({ name: 'echo', arguments: { text: large } })).structuredContent.echo, large);

// The model's mistakes are results, the client's are errors.
const wrong = await call({ name: 'echo', arguments: { text: 5 } });
assert.equal(wrong.isError, true);
assert.match(wrong.content[0].text, /arguments\.text must be of type string/);
const fraction = await call({ name: 'slow', arguments: { steps: 1.5 } });
assert.equal(fraction.isError, true);
const unknown = await call({ name: 'nosuch', arguments: {} }).catch((e) => e);
assert.equal(unknown.code, -32602, String(unknown));
const failed = await call({ name: 'test_error_handling', arguments: {} });
assert.equal(failed.isError, true);

// The SDK forgets who waits for progress when the answer is read, and hands progress out a turn later: what comes in one piece
// with the answer is lost there.  So what came is what is compared, and what was handed out is the beginning of it.
const came = [];
const received = transport.onmessage;
transport.onmessage = (message, extra) => {
  if (message.method === 'notifications/progress') came.push([message.params.progress, message.params.total]);
  else if ('result' in message) came.push('answer');
  received(message, extra);
};
const progress = [];
await call({ name: 'slow', arguments: { steps: 4, delay_ms: 100 } }, { onprogress: (p) => progress.push([p.progress, p.total]) });
transport.onmessage = received;
assert.deepEqual(came, [[1, 4], [2, 4], [3, 4], [4, 4], 'answer']);
assert.ok(progress.length > 0, 'some progress is handed out');
assert.deepEqual(progress, came.slice(0, progress.length));

// Many at once, each its own answer.
const many = await Promise.all(Array.from({ length: 50 }, (_, i) => call({ name: 'echo', arguments: { text: `n${i}` } })));
assert.deepEqual(many.map((r) => r.structuredContent.echo), Array.from({ length: 50 }, (_, i) => `n${i}`));

const abort = new AbortController();
setTimeout(() => abort.abort('enough'), 100);
const aborted = await call({ name: 'slow', arguments: { steps: 1000, delay_ms: 100 } }, { signal: abort.signal }).then(() => 'answered', () => 'aborted');
assert.equal(aborted, 'aborted');
// It goes on after that.
assert.equal((await call({ name: 'echo', arguments: { text: 'after' } })).structuredContent.echo, 'after');
if (legacy)
  await client.ping();
await client.close();
console.log(`${mode}: ${tools.length} tools`);
