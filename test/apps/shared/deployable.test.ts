import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SEALING_SECRETS } from '../../support/gated-calls.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';

describe('a deployable as its own process', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-deployable-'));
    const bank = '{ url: "https://bank.example/mcp", type: http, timeout: 60 }';
    const identity = '{ issuer: "https://id.example" }';
    const lines = ['mode: production', `identity: ${identity}`, `mcpServers: { bank: ${bank} }`];
    writeFileSync(join(folder, 'countersign.yaml'), lines.join('\n'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const start = (name: string, variables: Record<string, string> = {}) =>
    spawnSync(process.execPath, [packagePath('dist', 'apps', name, 'main.js')], {
      cwd: folder,
      encoding: 'utf8',
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: 'postgresql://127.0.0.1:9/x',
        COUNTERSIGN_PDP_TOKEN: 'a-token-of-the-pdp',
        COUNTERSIGN_ACCESS_REQUEST_TOKEN: 'a-token-of-access-requests',
        COUNTERSIGN_SEALING_KEYS: JSON.stringify(SEALING_SECRETS.sealingKeys),
        COUNTERSIGN_RECORD_SEALING_KEYS: JSON.stringify(SEALING_SECRETS.recordSealingKeys),
        COUNTERSIGN_DIGEST_KEY: SEALING_SECRETS.digestKey,
        ...variables,
      },
    });

  it('names every missing secret and no other, and warns about ignored settings in the block of an MCP host', () => {
    const { status, stderr, stdout } = start('audit');
    expect(status).toBe(1);
    expect(stderr).toBe('audit: COUNTERSIGN_SESSION_SECRET is not set\nCOUNTERSIGN_OIDC_CLIENT_SECRET is not set\n');
    expect(stdout).toMatch(/"level":40.*"mcpServers\.bank\.timeout: it is ignored: gateway\.executionTimeoutSeconds/);
  });

  it('logs an alarm with the error that ends it', () => {
    // As soon as the process hears of such errors, there is one.
    const script = `process.once('newListener', function crash(name) {
      if (name === 'uncaughtExceptionMonitor') setImmediate(() => Promise.reject(new Error('unheard')));
      else process.once('newListener', crash);
    });`;
    const { status, stdout } = start('audit', {
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}`,
    });
    expect(status).toBe(1);
    expect(stdout).toMatch(/"level":60,.*"alarm":"process_crashed","err":{.*"message":"unheard"/);
  });

  it('requires the address of Temporal when it is the worker', () => {
    const { status, stderr } = start('worker');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^worker: TEMPORAL_ADDRESS is not set\./);
  });
});
