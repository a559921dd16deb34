import { describe, expect, it } from '@jest/globals';
import { proposalFor } from '../../../apps/cli/commands/add/proposal.ts';
import { aTool } from '../../support/tools.ts';

const READS = { readOnlyHint: true };
const INSIDE = { readOnlyHint: true, openWorldHint: false };

interface Told {
  readonly title?: string;
  readonly description?: string;
  readonly annotations?: object;
  readonly arguments?: readonly string[];
}

function proposed(name: string, { arguments: names = [], ...told }: Told, options = {}) {
  const properties = Object.fromEntries(names.map((one) => [one, { type: 'string' }]));
  return proposalFor(aTool({ name, inputSchema: { type: 'object', properties }, ...told } as never), options);
}

describe('a tool whose server says that it only reads', () => {
  const HARMLESS: readonly [string, Told][] = [
    [
      'read_text_file',
      { description: 'Read a file. Use it instead of reading the whole folder.', arguments: ['path'] },
    ],
    ['list_commits', { description: 'List the commits of a branch, the newest first.' }],
    ['get_pull_request', { description: 'Get a pull request that was created or updated lately.' }],
    ['getWorkflowRun', { description: 'Shows the run of a workflow.' }],
    ['search-nodes', { description: 'Search for nodes that match a query.', arguments: ['query', 'maxTokens'] }],
    ['git_diff_unstaged', { description: 'Shows what is not staged yet.', title: 'Unstaged changes' }],
    ['convert_time', { description: 'Tells the time in another zone.', arguments: ['source_timezone', 'time'] }],
  ];
  it.each(HARMLESS)('may be called if nothing speaks against that: %s', (name, told) => {
    for (const annotations of [READS, INSIDE, { ...READS, destructiveHint: false }])
      expect(proposed(name, { ...told, annotations })).toMatchObject({
        ...{ verb: 'allow', effect: 'read', isContradicted: false },
        why: expect.stringMatching(/^it only reads/),
      });
  });

  it.each<[string, Told, why: string]>([
    ['drop_database', {}, 'it may destroy: its name has "drop"'],
    ['dropDatabase', {}, 'it may destroy: its name has "drop"'],
    ['DROP-DATABASE', {}, 'it may destroy: its name has "drop"'],
    ['DBDrop', {}, 'it may destroy: its name has "drop"'],
    [`del${'\u200b'}ete`, {}, 'it may destroy: its name has "delete"'],
    ['\uff44\uff45\uff4c\uff45\uff54\uff45', {}, 'it may destroy: its name has "delete"'],
    ['get_or_create', {}, 'it may change things: its name has "create"'],
    ['get_and_set', {}, 'it may change things: its name has "set"'],
    ['set_value', {}, 'it may change things: its name has "set"'],
    ['exec', {}, 'it may change things: its name has "exec"'],
    ['runCommand', {}, 'it may change things: its name has "run"'],
    ['send_mail', {}, 'it may change things: its name has "send"'],
    ['tidy', { title: 'Delete what is old' }, 'it may destroy: its title has "delete"'],
    ['tidy', { annotations: { title: 'Write a file' } }, 'it may change things: its title has "write"'],
    ['tidy', { description: 'Looks, then deletes what is old.' }, 'it may destroy: its description has "deletes"'],
    ['tidy', { description: 'A note.\nUpdates the note.' }, 'it may change things: its description has "updates"'],
    ['tidy', { description: 'Runs it.' }, 'it may change things: its description has "runs"'],
    [
      'aggregate',
      { description: 'Stages such as $out are possible.' },
      'it may change things: its description has "$out"',
    ],
    ['ask', { arguments: ['sql'] }, 'it may change things: its argument "sql" is a program'],
    ['look', { arguments: ['pageFunctionCode'] }, 'it may change things: its argument "pageFunctionCode" is a program'],
  ])('needs an approval if its words say that it changes something: %s %j', (name, { annotations, ...told }, why) => {
    const found = proposed(name, { ...told, annotations: { ...INSIDE, ...annotations } });
    expect(found).toMatchObject({ verb: 'approve', effect: undefined, isContradicted: true, why });
  });

  it.each<[string, Told, why: string]>([
    ['fetch', {}, 'it may reach outside: its name has "fetch"'],
    ['browser_navigate', {}, 'it may reach outside: its name has "navigate"'],
    ['browser_network_request', {}, 'it may reach outside: its name has "request"'],
    ['web_search', {}, 'it may reach outside: its name has "web"'],
    ['look', { description: 'Searches the web.' }, 'it may reach outside: its description has "web"'],
    ['look', { arguments: ['pageUrl'] }, 'it may reach outside: its argument "pageUrl" is an address'],
    ['get-env', {}, 'it may tell secrets: its name has "env"'],
    ['getEnv', {}, 'it may tell secrets: its name has "env"'],
    ['list_secrets', {}, 'it may tell secrets: its name has "secrets"'],
    ['show_api_key', {}, 'it may tell secrets: its name has "key"'],
    [
      'look',
      { description: 'Returns all environment variables.' },
      'it may tell secrets: its description has "environment variables"',
    ],
    ['look', { description: 'Shows the access token.' }, 'it may tell secrets: its description has "access token"'],
    [
      '\u0443\u0434\u0430\u043b\u0438\u0442\u044c',
      {},
      'its words cannot be compared with its hints: its name has letters outside a to z',
    ],
    [`r${'\u0435'}ad`, {}, 'its words cannot be compared with its hints: its name has letters outside a to z'],
    [
      'look',
      { description: '\u5220\u9664' },
      'its words cannot be compared with its hints: its description has letters of another script than Latin',
    ],
  ])('needs an approval if it may reach outside or tell secrets, or cannot be judged: %s %j', (name, told, why) => {
    expect(proposed(name, { ...told, annotations: READS })).toMatchObject({ verb: 'approve', effect: undefined, why });
  });

  it('is found to take an address or a program however deep its schema names them', () => {
    const deep = (properties: object) => ({
      type: 'object',
      properties: { a: { anyOf: [{ type: 'object', properties }] } },
    });
    const whyOf = (inputSchema: object) =>
      proposalFor(aTool({ name: 'look', inputSchema, annotations: INSIDE } as never)).why;
    expect(whyOf(deep({ url: true }))).toContain('"url" is an address');
    expect(whyOf({ $defs: { x: deep({ script: true }) } })).toContain('"script" is a program');
    expect(whyOf(deep(Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [`p${at}`, true]))))).toContain(
      'too many',
    );
  });

  it.each([
    [{ ...READS, destructiveHint: true }, 'its effect is "read", but destructiveHint is true', true],
    [{ ...READS, openWorldHint: true }, 'it reaches outside, as its server says', false],
  ])('needs an approval if another hint speaks against that: %j', (annotations, why, isContradicted) => {
    expect(proposed('look', { annotations })).toMatchObject({
      verb: 'approve',
      effect: undefined,
      why,
      isContradicted,
    });
  });
});

describe('any other tool', () => {
  it.each([
    [{}, undefined, 'its server does not say that it only reads'],
    [{ readOnlyHint: 'true' }, undefined, 'its server does not say that it only reads'],
    [{ destructiveHint: false }, undefined, 'its server does not say that it only reads'],
    [{ readOnlyHint: false, destructiveHint: false }, 'write', 'it changes things, as its server says'],
    [{ destructiveHint: true }, 'delete', 'it destroys, as its server says'],
  ])('needs an approval: %j', (annotations, effect, why) => {
    expect(proposed('look', { annotations })).toMatchObject({ verb: 'approve', effect, why, isContradicted: false });
  });

  it('has no effect if its words say that it destroys, and its hints that it does not', () => {
    const annotations = { readOnlyHint: false, destructiveHint: false };
    const why = 'it may destroy: its name has "purge"';
    expect(proposed('purge', { annotations })).toMatchObject({
      verb: 'approve',
      effect: undefined,
      why,
      isContradicted: true,
    });
  });
});

describe('hints that the operator trusts', () => {
  it('decide alone, and a tool that destroys by its hints needs an approval', () => {
    const trusting = (annotations: object) => proposed('fetch_and_delete', { annotations }, { trustHints: true });
    expect(trusting({ ...READS, openWorldHint: true })).toMatchObject({ verb: 'allow', effect: 'read' });
    expect(trusting({ ...READS, destructiveHint: true })).toMatchObject({ verb: 'approve', isContradicted: true });
    expect(trusting({})).toMatchObject({ verb: 'approve' });
  });
});
