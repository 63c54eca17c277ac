// SPDX-License-Identifier: Apache-2.0
// Streamable HTTP in front of a server on stdio: the conformance suite tests servers over HTTP alone.  What only HTTP asks of
// a server (Host and Origin, methods, statuses, the version header) is done here; all else is the server's.
//   node bridge.mjs COMMAND [ARGUMENT...]      prints the port of http://127.0.0.1:PORT/mcp, and serves
import { spawn } from 'node:child_process';
import http from 'node:http';
import readline from 'node:readline';

const META = 'io.modelcontextprotocol/';
const MODERN = '2026-07-28';
const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
server.on('exit', (status) => process.exit(status ?? 1));
const tell = (message) => server.stdin.write(`${JSON.stringify(message)}\n`);

// Many HTTP requests share one server, so each gets an id of ours there, which is its progress token too.
const waiting = new Map();
let ids = 0;

function respond(res, status, body, headers = {}) {
  if (res.headersSent || res.writableEnded) return;
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(body === undefined ? undefined : JSON.stringify(body));
}
function refuse(res, status, id, code, message) {
  respond(res, status, { jsonrpc: '2.0', id: id ?? null, error: { code, message } });
}
function event(res, message) {
  if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}
// 2026-07-28 has a status for some errors.
function status(entry, error) {
  if (!entry.modern || !error) return 200;
  if (error.code === -32601) return 404;
  if (error.code === -32602 && error.message.includes('_meta')) return 400;
  return error.code <= -32020 && error.code >= -32099 ? 400 : 200;
}

readline.createInterface({ input: server.stdout, crlfDelay: Infinity }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.method === 'notifications/progress') {
    const entry = waiting.get(message.params.progressToken);
    if (!entry) return;
    message.params.progressToken = entry.token;
    event(entry.res, message);
    return;
  }
  const entry = waiting.get(message.id);
  if (!entry) return;
  waiting.delete(message.id);
  message.id = entry.id;
  if (entry.res.headersSent) {
    event(entry.res, message);
    entry.res.end();
  } else {
    respond(entry.res, status(entry, message.error), message);
  }
});

function local(name) {
  return ['localhost', '127.0.0.1', '[::1]'].includes(name);
}
function take(req, res, text) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    refuse(res, 400, null, -32700, 'Parse error');
    return;
  }
  if (message.id === undefined) {
    tell(message);
    respond(res, 202);
    return;
  }
  const meta = message.params?._meta ?? {};
  const version = meta[`${META}protocolVersion`];
  const header = req.headers['mcp-protocol-version'];
  const modern = version !== undefined || header === MODERN || message.method === 'server/discover';
  if (version !== undefined && header !== undefined && header !== version) {
    refuse(res, 400, message.id, -32020, 'The header and the request name different versions');
    return;
  }
  // Only the header says that it is modern: the server would take it for a legacy one.
  if (modern && version === undefined && message.method !== 'server/discover') {
    refuse(res, 400, message.id, -32602, `Invalid params: _meta lacks ${META}protocolVersion`);
    return;
  }
  const id = ++ids;
  const entry = { id: message.id, res, modern, token: meta.progressToken };
  if (entry.token !== undefined) meta.progressToken = id;
  waiting.set(id, entry);
  res.on('close', () => {
    if (waiting.delete(id)) tell({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
  });
  tell({ ...message, id });
}

const listener = http.createServer((req, res) => {
  const host = (req.headers.host ?? '').replace(/:\d+$/, '');
  const origin = req.headers.origin && new URL(req.headers.origin).hostname;
  if (!local(host) || (origin && !local(origin))) {
    respond(res, 403, { error: 'Host or Origin is not local' });
    return;
  }
  if (req.method !== 'POST') {
    respond(res, 405, undefined, { allow: 'POST' });
    return;
  }
  let text = '';
  req.setEncoding('utf8');
  req.on('data', (piece) => (text += piece));
  req.on('end', () => take(req, res, text));
});
listener.listen(0, '127.0.0.1', () => console.log(listener.address().port));
