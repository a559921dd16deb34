import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import express, { type Router } from 'express';
import { packagePath } from '../../shared/config/files.ts';
import { asset } from '../../shared/pages/assets.ts';

/** `/assets/passkeys.js`: the browser's half of WebAuthn, as its package bundles it, and what our forms do with it. */
export function passkeyScript(): Router {
  const library = dirname(createRequire(import.meta.url).resolve('@simplewebauthn/browser'));
  const bundle = readFileSync(join(library, '..', 'dist', 'bundle', 'index.umd.min.js'), 'utf8');
  const own = readFileSync(packagePath('apps', 'approvals', 'inbox', 'passkeys.js'), 'utf8');
  return express.Router().get('/assets/passkeys.js', asset('js', `${bundle}\n${own}`));
}
