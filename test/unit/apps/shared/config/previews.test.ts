import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { readEnvironment } from '../../../../../apps/shared/config/env.ts';
import { loadConfig } from '../../../../../apps/shared/config/load.ts';

let cwd: string;
beforeEach(() => void (cwd = mkdtempSync(join(tmpdir(), 'previews-'))));
afterEach(() => rmSync(cwd, { recursive: true }));

const SERVERS = 'mcpServers: { files: { command: node }, bank: { command: node } }';

function load(preview: string, others = '') {
  writeFileSync(
    join(cwd, 'countersign.yaml'),
    [SERVERS, 'tools:', '  files__write_file:', `    preview: ${preview}`, others].join('\n'),
  );
  return loadConfig({ environment: readEnvironment({}), cwd }).config.tools['files__write_file']?.preview;
}

function refusal(preview: string, others = ''): string {
  try {
    load(preview, others);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the configuration was accepted');
}

it('takes a dry run of the tool itself, whose value is true unless the file says otherwise', () => {
  expect(load('{ dryRun: { argument: dryRun } }')).toEqual({ dryRun: { argument: 'dryRun', value: true } });
  expect(load('{ dryRun: { argument: mode, value: plan } }')).toEqual({ dryRun: { argument: 'mode', value: 'plan' } });
});

it('takes another tool of the same server that the operator states as read-only', () => {
  const preview = '{ tool: files__read_file, copy: { path: path }, arguments: { head: 100 } }';
  expect(load(preview, '  files__read_file: { effect: read }')).toEqual({
    ...{ tool: 'files__read_file', copy: { path: 'path' }, arguments: { head: 100 } },
  });
});

it.each([
  ['that the operator says nothing of', ''],
  ['that the operator states as one that writes', '  files__read_file: { effect: write }'],
  ['of which the operator states another fact', '  files__read_file: { idempotent: true }'],
])('refuses another tool %s, at its line', (_of, others) => {
  expect(refusal('{ tool: files__read_file }', others)).toBe(
    'countersign.yaml:4: tools.files__write_file.preview.tool: a preview only reads: if "files__read_file" does, state its effect: read in tools',
  );
});

it('refuses the tool itself without the argument by which it changes nothing', () => {
  expect(refusal('{ tool: files__write_file, arguments: { dryRun: true } }', '')).toMatch(
    /^countersign\.yaml:4: tools\.files__write_file\.preview\.tool: it is the tool itself: use dryRun/,
  );
});

it('refuses a tool of another server', () => {
  expect(refusal('{ tool: bank__balance }', '  bank__balance: { effect: read }')).toMatch(
    /preview\.tool: it is not a tool of the same server/,
  );
});

it('refuses an argument that is both copied and given', () => {
  const preview = '{ tool: files__read_file, copy: { path: path }, arguments: { path: /etc } }';
  expect(refusal(preview, '  files__read_file: { effect: read }')).toMatch(
    /preview\.copy\.path: it is in arguments too: remove one of them/,
  );
});
