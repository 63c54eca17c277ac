// SPDX-License-Identifier: Apache-2.0
// GitHub's OpenAPI description (@octokit/openapi, MIT), cut down to the operations that open-conduit-github uses and what they
// reach: Prism takes a quarter of a minute for the whole.
//
//   node slice_openapi.mjs [FILE…] >slice.json      in a directory with node_modules/@octokit/openapi
//
// Stricter than GitHub's own: no member of a token's request that isn't described, and each operation wants its sort of bearer.
// Each FILE is JSON, {"path": ["method", …], …}: further operations, with a token.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const source = createRequire(process.cwd() + '/')('@octokit/openapi/generated/api.github.com.json');
const MINT = '/app/installations/{installation_id}/access_tokens';
const NOBODY = '/users/{username}';
const APP = ['/app', '/repos/{owner}/{repo}/installation', MINT];
const operations = {
	'/app': ['get'],
	[NOBODY]: ['get'],
	'/repos/{owner}/{repo}': ['get'],
	'/repos/{owner}/{repo}/installation': ['get'],
	[MINT]: ['post'],
	'/installation/token': ['delete'],
};
for (const file of process.argv.slice(2))
	Object.assign(operations, JSON.parse(readFileSync(file, 'utf8')));

const out = { openapi: source.openapi, info: source.info, servers: source.servers, paths: {}, components: {} };
const seen = new Set();
function walk(value) {
	if (Array.isArray(value))
		return value.forEach(walk);
	if (!value || typeof value !== 'object')
		return;
	if (typeof value.$ref === 'string' && !seen.has(value.$ref)) {
		seen.add(value.$ref);
		const [, , kind, key] = value.$ref.split('/');
		const name = key.replace(/~1/g, '/').replace(/~0/g, '~');
		(out.components[kind] ??= {})[name] = source.components[kind][name];
		walk(source.components[kind][name]);
	}
	Object.values(value).forEach(walk);
}
for (const [path, methods] of Object.entries(operations))
	for (const method of methods) {
		const operation = structuredClone(source.paths[path][method]);
		if (path !== NOBODY)
			operation.security = [{ [APP.includes(path) ? 'app' : 'token']: [] }];
		(out.paths[path] ??= {})[method] = operation;
		walk(operation);
	}
out.components.schemas['app-permissions'].additionalProperties = false;
out.paths[MINT].post.requestBody.content['application/json'].schema.additionalProperties = false;
out.components.securitySchemes = {
	app: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
	token: { type: 'http', scheme: 'bearer' },
};
process.stdout.write(JSON.stringify(out) + '\n');
