import { describe, expect, it } from '@jest/globals';
import { welcome } from '../../../apps/cli/commands/up-welcome.ts';
import { readEnvironment } from '../../../apps/shared/config/env.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { loadConfig } from '../../../apps/shared/config/load.ts';
import { OWN_COMMAND } from '../../../apps/cli/own-command.ts';

const FILE = '/mine/countersign.yaml';
const saidOf = (text: string) =>
  welcome(loadConfig({ environment: readEnvironment({}), cwd: '/mine', configFile: FILE, text }));

describe('what `up` says once everything is ready', () => {
  it('names the addresses, who signs in where, and the next commands of the example', () => {
    const configFile = packagePath('countersign.yaml');
    const lines = welcome(loadConfig({ environment: readEnvironment({}), cwd: '/mine', configFile })).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        '  MCP    http://127.0.0.1:4100/mcp  sign in as alice or bob',
        '  Inbox  http://127.0.0.1:4102      sign in as alice or bob',
        '  Audit  http://127.0.0.1:4103      sign in as olivia',
        expect.stringMatching(/^Sign in as the same person/),
        expect.stringMatching(/^This is the example/),
        expect.stringContaining(`  ${OWN_COMMAND} demo `),
        expect.stringMatching(/ add .* in place of the example$/),
        expect.stringContaining(`  ${OWN_COMMAND} connect `),
      ]),
    );
  });

  it('says that an agent on this machine can approve its own calls, unless another issuer signs people in', () => {
    const sentence = 'An agent with a shell on this machine can approve its own calls here';
    expect(saidOf('{}')).toContain(sentence);
    expect(saidOf('identity: { issuer: "https://id.example" }')).not.toContain(sentence);
  });

  it('asks for a server where there is none', () => {
    const said = saidOf('{}');
    expect(said).toContain('it offers no tools');
    expect(said).toMatch(/ add .* behind it/);
    expect(said).not.toContain('demo');
  });

  it('names only the host to connect where there are servers', () => {
    const said = saidOf('mcpServers: { files: { command: x } }');
    expect(said.split(OWN_COMMAND)).toEqual([expect.anything(), expect.stringMatching(/^ connect /)]);
  });

  it('names the issuer where there is another one, and a role that no person has', () => {
    expect(saidOf('identity: { issuer: "https://id.example" }')).toContain(
      '4102      sign in at https://id.example with the role approver',
    );
    expect(saidOf('identity: { people: [{ name: ann, roles: [approver] }] }')).toContain(
      'no person has the role auditor',
    );
  });
});
