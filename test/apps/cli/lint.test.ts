import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { pino } from 'pino';
import { parse } from 'yaml';
import { configuredTerms } from '../../../apps/approvals/templates.ts';
import { lintTools } from '../../../apps/cli/commands/lint/rules.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { readEnvironment } from '../../../apps/shared/config/env.ts';
import { loadConfig } from '../../../apps/shared/config/load.ts';
import { openDirectory } from '../../../apps/shared/directory/directory.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { ToolSettings } from '../../../workflows/domain/tools/tool-facts.ts';
import { startDescribedUpstream } from '../../support/described-upstream.ts';
import { aGroup, aUser, directoryText } from '../../support/directory.ts';
import { DEFAULT_POLICIES } from '../../support/pdp.ts';
import { aTool } from '../../support/tools.ts';
import { Desk } from './run.ts';
import { systemTime } from '../../support/time.ts';

const folder = mkdtempSync(join(tmpdir(), 'lint-'));
afterAll(() => rmSync(folder, { recursive: true }));
let desk: Desk | undefined;
const run = (config: object | string, ...args: string[]) => (desk = new Desk(config)).run(['lint', ...args]);

const fileServer = packagePath('node_modules', '@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js');
/** It says of its tools what the real file server says, without a process. */
let upstream!: Awaited<ReturnType<typeof startDescribedUpstream>>;
const files = { url: '' };
beforeAll(async () => {
  const client = new Client({ name: 'lint', version: '1' });
  const program = { command: process.execPath, args: [fileServer, folder] };
  await client.connect(new StdioClientTransport({ ...program, stderr: 'ignore' }));
  upstream = await startDescribedUpstream((await client.listTools()).tools);
  files.url = upstream.url;
  await client.close();
});
afterAll(() => upstream?.close());
const pdp = { policies: DEFAULT_POLICIES };
const example = parse(readFileSync(packagePath('countersign.yaml'), 'utf8')) as { tools: object };

describe('countersign lint', () => {
  it('prints the safety of every tool, and accepts the example [HINT-012]', async () => {
    const { code, out, err } = await run({ mcpServers: { files }, tools: example.tools, pdp });
    expect([code, err]).toEqual([0, '']);
    const lines = out.split('\n');
    expect(lines[0]).toMatch(
      /^TOOL +EFFECT +READS ONLY +DESTROYS +OPEN WORLD +CONFIRMATION +IDEMPOTENT +RESULT +PREPROCESSOR +REQUIRES$/,
    );
    const rowOf = (tool: string) => lines.find((line) => line.startsWith(`files__${tool} `))?.split(/ {2,}/);
    expect(rowOf('read_text_file')).toEqual(['files__read_text_file', '-', 'yes', '-', 'no', '-', '-', '-', 'no', '-']);
    expect(rowOf('write_file')).toEqual(['files__write_file', 'write', 'no', 'yes', 'no', 'yes', '-', '-', 'no', '-']);
    expect(lines.slice(15)).toEqual([
      expect.stringMatching(
        /^warning {2}everything__echo: .*no upstream with its prefix is configured; add the upstream or correct the name$/,
      ),
      expect.stringMatching(/^warning {2}everything__get-sum: .*no upstream with its prefix/),
    ]);
  });

  it('fails for a preview that no call would get', async () => {
    const { code, out } = await run({
      ...{ mcpServers: { files }, pdp },
      tools: {
        ...example.tools,
        files__write_file: { requiresConfirmation: true, preview: { dryRun: { argument: 'dryRun' } } },
        files__move_file: { requiresConfirmation: true, preview: { tool: 'files__stat' } },
        files__stat: { effect: 'read' },
      },
    });
    expect(code).toBe(1);
    expect(out).toContain(
      'files__write_file: no call of it gets a preview: its schema names no argument dryRun that takes true',
    );
    expect(out).toContain('files__move_file: no call of it gets a preview: its server has no files__stat');
    expect(out).not.toContain('files__edit_file: no call');
  });

  it('fails when a tool destroys without a confirmation [HINT-010]', async () => {
    const { code, out, err } = await run({
      mcpServers: { files },
      pdp,
      tools: { files__edit_file: { requiresConfirmation: true } },
    });
    expect([code, err]).toEqual([1, 'countersign: found 2 errors; correct each, and run this again']);
    expect(out.split('\n').filter((line) => line.startsWith('error'))).toEqual([
      expect.stringMatching(/^error {2}files__write_file: it is destructive, and no hint tells hosts to ask/),
      expect.stringMatching(/^error {2}files__move_file: it is destructive/),
    ]);
  });

  it('fails when a preprocessor does more than read, and says so in JSON', async () => {
    const tools = { ...example.tools, files__create_directory: { preprocessor: true } };
    const { code, out } = await run({ mcpServers: { files }, tools, pdp }, '--json');
    const said = JSON.parse(out) as { tools: { tool: string }[]; findings: { severity: string }[] };
    expect(code).toBe(1);
    expect(said.findings.filter(({ severity }) => severity === 'error')).toEqual([
      {
        severity: 'error',
        rule: 'refused',
        about: 'files__create_directory',
        message: expect.stringMatching(/set `effect: read`/),
      },
    ]);
    expect(said.tools.map(({ tool }) => tool)).not.toContain('files__create_directory');
    expect(said.tools).toContainEqual({
      ...{
        tool: 'files__write_file',
        effect: 'write',
        readOnlyHint: false,
        destructiveHint: true,
        openWorldHint: false,
      },
      ...{ requiresConfirmation: true, preprocessor: false, requirements: [] },
    });
  });

  it('fails when the directory contradicts itself about approvers, with the same words as the service', async () => {
    const file = join(folder, 'people.json');
    writeFileSync(file, directoryText(aUser('alice'), aGroup('ops', ['alice'])));
    const stages = [
      { name: 'a', approvers: { people: ['zoe'], groups: ['oops', 'ops'] } },
      { name: 'b', approvers: { groups: ['ops'] }, quorum: 2 },
    ];
    const config = {
      mcpServers: { files },
      pdp,
      tools: example.tools,
      directory: { file },
      approvals: { templates: { payment: { stages } } },
    };
    const { code, out, err } = await run(config);
    expect([code, err]).toEqual([1, 'countersign: found 4 errors; correct each, and run this again']);
    const { config: loaded } = loadConfig({
      environment: readEnvironment({}),
      configFile: undefined,
      cwd: desk?.folder ?? '',
    });
    const refusal = (() => {
      try {
        configuredTerms(loaded, openDirectory(loaded.directory, { log: pino({ enabled: false }), ...systemTime })());
        return 'it started';
      } catch (error) {
        return (error as Error).message;
      }
    })();
    const said = out.split('\n').filter((line) => line.startsWith('error'));
    expect(said).toEqual(refusal.split('\n').map((line) => `error  ${line}`));
    expect(said[0]).toMatch(/^error {2}approvals\.templates\.payment\.stages\[0\]\.approvers\.people: "zoe" is not/);
  });

  it('fails when the configured directory file is missing', async () => {
    const directory = { file: join(folder, 'nowhere.json') };
    const { code, out } = await run({ mcpServers: { files }, tools: example.tools, pdp, directory });
    expect(code).toBe(1);
    expect(out).toMatch(/^error {2}directory\.file: .*nowhere\.json cannot be read$/m);
  });

  it('fails when the tools of an upstream are not known', async () => {
    const { code, out } = await run({ mcpServers: { web: { url: 'http://127.0.0.1:1/mcp' } } });
    expect(code).toBe(1);
    expect(out).toMatch(/^error {2}web: web cannot be used: .*ECONNREFUSED.*; check the address/m);
  });

  it('says of the example before its first start that the start creates its folder, and creates nothing itself', async () => {
    const { code, out } = await run(readFileSync(packagePath('countersign.yaml'), 'utf8'));
    const stateDir = desk?.stateDir ?? '';
    const told = `error  files: its folder ${join(stateDir, 'files')} does not exist yet; the first`;
    expect([code, out]).toEqual([1, expect.stringContaining(told)]);
    expect(existsSync(stateDir)).toBe(false);
  });
});

describe('a finding about tools', () => {
  const found = (definition: JsonObject, settings: ToolSettings = {}, config: object = {}) =>
    lintTools(parseConfig({ mcpServers: { bank: { command: 'x' } }, ...config }, { baseDir: '/', stateDir: '/' }), {
      tools: [aTool({ name: 'pay', ...definition }, { settings })],
      refused: [],
      unlisted: new Map(),
    }).map(({ severity, rule, about }) => [severity, rule, about]);
  const effect = (value: string) => ({ 'mcp.dev/effect': value });

  it('names hints and annotations that contradict each other [HINT-013]', () => {
    const wrong = [['error', 'contradiction', 'bank__pay']];
    expect(found({ _meta: effect('read'), annotations: { readOnlyHint: false } })).toEqual(wrong);
    expect(found({ _meta: effect('write'), annotations: { readOnlyHint: true } })).toEqual(wrong);
    expect(found({ _meta: effect('external'), annotations: { openWorldHint: false } })).toEqual(wrong);
    const asking = { ...effect('delete'), 'mcp.dev/requiresConfirmation': true };
    expect(found({ _meta: asking, annotations: { destructiveHint: false } })).toEqual(wrong);
    expect(found({ _meta: asking })).toEqual([]);
    expect(found({ _meta: effect('read'), annotations: { readOnlyHint: false } }, { effect: 'write' })).toEqual([]);
  });

  it('names a tool that destroys without a confirmation, regardless of who declares the hints [HINT-010]', () => {
    const wrong = [['error', 'asks', 'bank__pay']];
    expect(found({ _meta: effect('delete') })).toEqual(wrong);
    expect(found({ annotations: { destructiveHint: true } })).toEqual(wrong);
    expect(found({}, { effect: 'delete' })).toEqual(wrong);
    expect(found({}, { effect: 'delete', requiresConfirmation: true })).toEqual([]);
    expect(found({ annotations: { destructiveHint: true } }, { effect: 'read' })).toEqual([]);
  });

  it('names a setting for a tool that does not exist', () => {
    expect(found({}, {}, { tools: { bank__pays: { requirements: ['env:a'] } } })).toEqual([
      ['error', 'no-such-tool', 'bank__pays'],
    ]);
  });

  it('names a requirement that is unknown or has no namespace [REQ-002]', () => {
    const settings = { requirements: ['env:a', 'weather'] };
    expect(found({}, settings, { requirements: { 'env:a': { met: true } } })).toEqual([
      ['warning', 'unknown-requirement', 'weather'],
      ['warning', 'namespace', 'weather'],
    ]);
  });

  describe('about a mapping', () => {
    const properties = { to: { type: 'string' }, amount: { type: 'integer' }, memo: { type: 'string' } };
    const schema = { type: 'object', properties, required: ['to', 'amount'], additionalProperties: false };
    const parts = { action: { name: 'pay' }, resource: { type: 'account', id: '$params.arguments.to' } };
    const ALL = { amount: '$params.arguments.amount', memo: '$params.arguments.?memo' };
    const mapped = (evaluation: object, config: object = {}) =>
      lintTools(parseConfig({ mcpServers: { bank: { command: 'x' } }, ...config }, { baseDir: '/', stateDir: '/' }), {
        tools: [aTool({ name: 'pay', inputSchema: { ...schema, 'x-authzen-mapping': { evaluation } } as JsonObject })],
        refused: [],
        unlisted: new Map(),
      }).map(({ severity, message }) => `${severity} ${message}`);
    const context = (leaf: string) => mapped({ ...parts, context: { ...ALL, leaf } });

    it('is absent when the mapping is valid', () => {
      expect(mapped({ ...parts, subject: { id: '$token.sub' }, context: ALL })).toEqual([]);
      expect(context("$has(params.arguments.memo) ? params.arguments.memo : 'none'")).toEqual([]);
      expect(mapped({ ...parts, context: { all: '$params.arguments' } })).toEqual([]);
    });

    it.each([
      ['that cannot be used', '$person.sub', /^error its mapping is not valid.*evaluation\.context\.leaf/],
      [
        'that reads an optional member',
        '$params.arguments.memo',
        /^error .*leaf fails without the argument "memo".*\.\?memo/,
      ],
      [
        'that reads a part of an optional member',
        '$params.arguments.memo.?text',
        /^error .*leaf fails without the argument "memo"/,
      ],
      [
        'that reads something other than an argument',
        '$params.arguments.?note',
        /^error .*leaf reads the argument "note"/,
      ],
    ])('names one %s [COAZ-FW-24] [COAZ-DC-06] [COAZ-EX-02]', (_case, leaf, message) => {
      expect(context(leaf)).toEqual([expect.stringMatching(message)]);
    });

    it('names one that leaves arguments out, or names the subject itself [COAZ-PP-07] [COAZ-SU-01] [COAZ-SU-04]', () => {
      expect(mapped(parts)).toEqual([expect.stringMatching(/^warning .*leaves out amount, memo/)]);
      const other = { ...parts, subject: { id: '$token.email' }, context: ALL };
      expect(mapped(other)).toEqual([expect.stringMatching(/^error .*another subject than \$token\.sub/)]);
      const mcpServers = { bank: { command: 'x', mappingsMayNameSubject: true } };
      expect(mapped(other, { mcpServers })).toEqual([expect.stringMatching(/^warning .*names the subject itself/)]);
      expect(mapped(other, { gateway: { coaz: { identityClaim: 'email' } } })).toEqual([]);
    });
  });
});
