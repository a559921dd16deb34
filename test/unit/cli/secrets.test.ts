import { describe, expect, it } from '@jest/globals';
import { withoutSecrets } from '../../../apps/cli/commands/add/secrets.ts';

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
});
