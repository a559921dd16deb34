import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type KnownVariables, SecretVariables, type ServerEntry } from '../../../apps/cli/commands/add/secrets.ts';

const NOTHING: KnownVariables = { environment: {}, mentioned: new Set() };

function withoutSecrets(name: string, server: ServerEntry, known = NOTHING) {
  const secrets = new SecretVariables(known);
  return { server: secrets.without(name, server), variables: secrets.values };
}

/** As the configuration replaces references when it is loaded. */
const expanded = (value: unknown, variables: Readonly<Record<string, string>>): unknown =>
  JSON.parse(JSON.stringify(value), (_key, one: unknown) =>
    typeof one === 'string'
      ? one.replaceAll(
          /\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}/g,
          (_all, name: string, other = '?') => variables[name] ?? other,
        )
      : one,
  );

const GITHUB = `ghp_${'a1'.repeat(18)}`;

describe('secrets of a server', () => {
  it.each([
    ['a variable', { env: { GITHUB_TOKEN: GITHUB } }, { env: { GITHUB_TOKEN: '${GITHUB_TOKEN}' } }],
    [
      'a bearer token',
      { headers: { Authorization: `Bearer ${GITHUB}` } },
      { headers: { Authorization: 'Bearer ${GH_TOKEN}' } },
    ],
    ['any header', { headers: { 'X-Team': 'blue' } }, { headers: { 'X-Team': '${GH_X_TEAM}' } }],
    ['a query', { url: 'https://a.example/mcp?key=abc&page=2' }, { url: 'https://a.example/mcp?key=${GH_KEY}&page=2' }],
    ['a user', { url: 'https://me:pass@a.example/mcp' }, { url: 'https://${GH_USER}@a.example/mcp' }],
    ['a path', { url: `https://a.example/${GITHUB}/mcp` }, { url: 'https://a.example/${GH_PATH}/mcp' }],
    ['an option', { args: ['--api-key', 'abc', 'x'] }, { args: ['--api-key', '${GH_SECRET}', 'x'] }],
    ['an option with =', { args: ['--token=abc'] }, { args: ['--token=${GH_SECRET}'] }],
    ['a header in arguments', { args: [`Authorization: Bearer ${GITHUB}`] }, { args: ['Authorization: ${GH_SECRET}'] }],
    ['an argument', { args: [GITHUB] }, { args: ['${GH_SECRET}'] }],
    ['an address of a database', { args: ['postgresql://u:p@db/x'] }, { args: ['${GH_SECRET}'] }],
    ['an odd value', { env: { MODE: 'q9!x' } }, { env: { MODE: '${MODE}' } }],
  ])('become references to variables: %s', (_what, server, expected) => {
    const { server: written, variables } = withoutSecrets('gh', server);
    expect(written).toEqual(expected);
    expect(Object.keys(variables)).toHaveLength(1);
    const [[name = '', value = ''] = []] = Object.entries(variables);
    expect(JSON.stringify(written).replace(`\${${name}}`, value)).toBe(JSON.stringify(server));
  });

  it.each([
    { env: { LOG_LEVEL: 'debug', PORT: '8080', ROOT: '/srv/data', BASE: 'https://a.example/v1' } },
    { env: { TOKEN: '${OTHER}' }, headers: { Authorization: 'Bearer ${env:TOKEN}', Accept: 'text/html' } },
    {
      command: 'npx',
      args: [
        '-y',
        '@modelcontextprotocol/server-filesystem@2026.8.31',
        './files',
        '/home/me/some-long-folder-name-2026',
      ],
    },
    { url: 'https://api.githubcopilot.com/mcp/' },
  ])('are not seen in %j', (server) => {
    expect(withoutSecrets('gh', server)).toEqual({ server, variables: {} });
  });

  it('keeps two different values of one name apart', () => {
    const { server, variables } = withoutSecrets('gh', { args: ['--token=a1', '--secret=b2'] });
    expect(server).toEqual({ args: ['--token=${GH_SECRET}', '--secret=${GH_GH_SECRET}'] });
    expect(variables).toEqual({ GH_SECRET: 'a1', GH_GH_SECRET: 'b2' });
  });

  it('are references that a shell can set, also if the name of the server begins with a digit', () => {
    const { server } = withoutSecrets('1password', { args: ['--token=a1'] });
    expect(server).toEqual({ args: ['--token=${_1PASSWORD_SECRET}'] });
  });

  it('turns the variables of shells into references', () => {
    expect(withoutSecrets('gh', { env: { TOKEN: '$MY_TOKEN' } })).toEqual({
      server: { env: { TOKEN: '${MY_TOKEN}' } },
      variables: {},
    });
  });

  it.each<[string, object, secret: string]>([
    ['a default', { env: { A: '${GH_TOKEN:-ghp_secret12345}' } }, 'ghp_secret12345'],
    ['a default in a header', { headers: { Authorization: 'Bearer ${GH_TOKEN:-ghp_secret12345}' } }, 'ghp_secret12345'],
    ['a text beside a reference', { headers: { 'X-Key': 'prefix${A:-z}hunter2' } }, 'hunter2'],
    ['a text before a reference', { env: { API_KEY: 'hunter2${A:-z}' } }, 'hunter2'],
    ['a default of an argument', { args: ['--token=${T:-hunter2}'] }, 'hunter2'],
    ['a default behind an option', { args: ['--token', '${T:-hunter2}'] }, 'hunter2'],
    ['a default that looks like a secret', { args: ['x=${T:-ghp_secret12345}'] }, 'ghp_secret12345'],
    ['a default in a query', { url: 'https://a.example/?key=${K:-hunter2}' }, 'hunter2'],
    ['a default before a host', { url: 'https://${U:-me:hunter2}@a.example/' }, 'hunter2'],
    ['a text before a host', { url: 'https://${U:-}hunter2@a.example/' }, 'hunter2'],
  ])('beside a reference become references too, and mean the same: %s', (_what, server, secret) => {
    const { server: written, variables } = withoutSecrets('gh', server as ServerEntry);
    expect(JSON.stringify(written)).not.toContain(secret);
    expect(expanded(written, variables)).toEqual(expanded(server, {}));
  });

  it('mean the same with any text between references', () => {
    const piece = fc.constantFrom(
      '${A}',
      '${B:-hunter2}',
      '${env:C}',
      '${D:-}',
      'Bearer ',
      'plain',
      'q9!x',
      '/',
      '--token=',
      'ghp_secret12345',
      ' ',
    );
    const text = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''));
    const server = fc.record({
      env: fc.dictionary(fc.constantFrom('TOKEN', 'MODE', 'A'), text),
      args: fc.array(text),
      headers: fc.dictionary(fc.constant('X'), text),
    });
    const environments = fc.dictionary(
      fc.constantFrom('A', 'B', 'C', 'TOKEN', 'MODE'),
      fc.constantFrom('set', 'other'),
    );
    fc.assert(
      fc.property(server, environments, (given, environment) => {
        const mentioned = new Set(['A', 'C']);
        const { server: written, variables } = withoutSecrets('gh', given, { environment, mentioned });
        expect(expanded(written, { ...variables, ...environment })).toEqual(expanded(given, environment));
        for (const name of Object.keys(variables)) expect(Object.hasOwn(environment, name)).toBe(false);
      }),
    );
  });

  it('of two servers with a variable of one name get a variable each, and share one where the values are equal', () => {
    const secrets = new SecretVariables(NOTHING);
    const written = ['a1', 'b2', 'a1'].map((TOKEN, at) => secrets.without(`s${at}`, { env: { TOKEN } }));
    expect(written.map(({ env }) => env)).toEqual([
      { TOKEN: '${TOKEN}' },
      { TOKEN: '${S1_TOKEN}' },
      { TOKEN: '${TOKEN}' },
    ]);
    expect({ ...secrets.values }).toEqual({ TOKEN: 'a1', S1_TOKEN: 'b2' });
  });

  it.each<[string, KnownVariables, string, object]>([
    ['has another value', { environment: { TOKEN: 'other' }, mentioned: new Set() }, 'GH_TOKEN', { GH_TOKEN: 'mine1' }],
    ['has this value', { environment: { TOKEN: 'mine1' }, mentioned: new Set(['TOKEN']) }, 'TOKEN', {}],
    ['is mentioned elsewhere', { environment: {}, mentioned: new Set(['TOKEN']) }, 'GH_TOKEN', { GH_TOKEN: 'mine1' }],
  ])('take no variable that %s, unless it fits', (_what, known, name, variables) => {
    const found = withoutSecrets('gh', { env: { TOKEN: 'mine1' } }, known);
    expect(found).toEqual({ server: { env: { TOKEN: `\${${name}}` } }, variables });
  });

  it.each(['DATABASE_URL', 'TEMPORAL_API_KEY', 'COUNTERSIGN_TOKEN', 'NODE_AUTH_TOKEN'])(
    'never become the value of %s, which Countersign reads itself',
    (name) => {
      const { server } = withoutSecrets('pg', { env: { [name]: 'postgresql://u:p@db/x' } });
      expect(server).toEqual({ env: { [name]: `\${PG_${name}}` } });
    },
  );

  it.each([
    ['SENTRY_HOST', 'sentry.example.com'],
    ['REGION', 'eu-central-1'],
    ['MODEL', 'claude-sonnet-4-5'],
    ['BASE', 'localhost:8080'],
  ])('are no host, region or model: %s', (name, value) => {
    expect(withoutSecrets('gh', { env: { [name]: value } }).server).toEqual({ env: { [name]: value } });
  });
});
