import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readEnvironment } from '../../../../../apps/shared/config/env.ts';
import { loadConfig } from '../../../../../apps/shared/config/load.ts';
import { packagePath } from '../../../../../apps/shared/config/files.ts';

let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'config-'));
});

afterEach(() => rmSync(cwd, { recursive: true }));

function write(text: string, name = 'countersign.yaml'): string {
  const file = join(cwd, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const load = (variables: NodeJS.ProcessEnv = {}, configFile?: string) =>
  loadConfig({ environment: readEnvironment(variables), configFile, cwd });

/** The error's code and lines. */
function problems(variables: NodeJS.ProcessEnv = {}, configFile?: string): string[] {
  try {
    load(variables, configFile);
  } catch (error) {
    expect(error).toMatchObject({ name: 'CountersignError', code: 'ERR_CONFIG_INVALID' });
    return (error as Error).message.split('\n');
  }
  throw new Error('the configuration was accepted');
}

describe('loadConfig, finding the file', () => {
  it('takes --config, then COUNTERSIGN_CONFIG, then the file here, then the example of the package', () => {
    const example = packagePath('countersign.yaml');
    expect(load()).toMatchObject({ file: example, ownFile: join(cwd, 'countersign.yaml') });
    expect(load({}, example).ownFile).toBeUndefined();
    const here = write('host: 127.0.0.2');
    expect(load().file).toBe(here);
    expect(load().ownFile).toBeUndefined();
    const named = write('host: 127.0.0.3', 'other/named.yaml');
    expect(load({ COUNTERSIGN_CONFIG: named })).toMatchObject({ file: named, config: { host: '127.0.0.3' } });
    const option = write('host: 127.0.0.4', 'option.yaml');
    expect(load({ COUNTERSIGN_CONFIG: named }, 'option.yaml')).toMatchObject({
      file: option,
      config: { host: '127.0.0.4' },
    });
  });

  it('does not fall back when a named file is missing', () => {
    expect(problems({}, 'gone.yaml')).toEqual([
      `--config: there is no file ${join(cwd, 'gone.yaml')}; correct the path`,
    ]);
    expect(problems({ COUNTERSIGN_CONFIG: '/gone.yaml' })).toEqual([
      'COUNTERSIGN_CONFIG: there is no file /gone.yaml; correct the path',
    ]);
    expect(problems({}, '.')).toEqual([`--config: ${cwd} is a folder; name a file in it`]);
  });

  it('resolves relative paths in the folder of the file, and keeps state in the current folder', () => {
    write('pdp: { policies: mine }', 'deep/countersign.yaml');
    const { config } = load({}, 'deep/countersign.yaml');
    expect(config).toMatchObject({ baseDir: join(cwd, 'deep'), stateDir: join(cwd, '.countersign') });
    expect(config.pdp.policies).toBe(join(cwd, 'deep', 'mine'));
    expect(load({ COUNTERSIGN_STATE: 'elsewhere' }).config.stateDir).toBe(join(cwd, 'elsewhere'));
  });

  it('resolves the files of flags in the folder of the file, too', () => {
    write('requirements: { a: { flagsFile: flags.yaml }, b: { flagsFile: /etc/flags.yaml }, c: { met: true } }');
    expect(load().config.requirements).toEqual({
      a: { flagsFile: join(cwd, 'flags.yaml') },
      b: { flagsFile: '/etc/flags.yaml' },
      c: { met: true },
    });
  });

  it('resolves the files of upstream secrets there, and leaves the arguments of programs unchanged', () => {
    write(`
mcpServers:
  bank:
    url: https://bank.test/mcp
    headers: { x-key: { file: keys/bank }, x-name: file }
    auth: { issuer: https://issuer.test, clientId: us, privateKey: { file: /run/bank.json } }
  files: { command: run, env: { file: keys/bank } }
`);
    expect(load().config.mcpServers).toMatchObject({
      bank: {
        headers: { 'x-key': { file: join(cwd, 'keys/bank') }, 'x-name': 'file' },
        auth: { privateKey: { file: '/run/bank.json' } },
      },
      files: { env: { file: 'keys/bank' } },
    });
  });

  it('accepts tools on first sight in development, and accepted ones in production, by default', () => {
    const pinning = (text: string) => {
      write(text);
      return load({ DATABASE_URL: 'postgresql://x' }).config.signature.pinning;
    };
    const production = 'mode: production\nidentity: { issuer: https://issuer.test }\n';
    expect([pinning(''), pinning(production)]).toEqual(['first-seen', 'accepted']);
    expect(pinning('signature: { pinning: accepted }')).toBe('accepted');
    expect(pinning(`${production}signature: { pinning: first-seen }`)).toBe('first-seen');
  });

  it('treats an empty file as the defaults', () => {
    write('# nothing yet\n');
    expect(load().config.gateway.port).toBe(4100);
  });
});

describe('loadConfig, variables', () => {
  it('puts variables and their defaults into text values', () => {
    write(`
mcpServers:
  files:
    command: '\${TOOL:-npx}'
    args: ['\${COUNTERSIGN_STATE}/files', 'a\${A}b\${B:-}c']
    env: { KEY: '\${KEY}' }
`);
    expect(load({ A: '1', KEY: 'k', TOOL: '' }).config.mcpServers['files']).toMatchObject({
      command: 'npx',
      args: [`${join(cwd, '.countersign')}/files`, 'a1bc'],
      env: { KEY: 'k' },
    });
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'does not take %s for a variable that is set',
    (name) => {
      write(`host: \${${name}}`);
      expect(problems()[0]).toContain(`the variable ${name} is not set`);
      write(`host: \${${name}:-127.0.0.9}`);
      expect(load().config.host).toBe('127.0.0.9');
    },
  );

  it('names the setting whose variable is not set', () => {
    write("audit:\n  clientId: '${NO_SUCH}'\n");
    expect(problems()).toEqual([
      'countersign.yaml:2: audit.clientId: the variable NO_SUCH is not set (${NO_SUCH:-default} gives it a default)',
    ]);
  });

  it.each([
    ["command: npx, env: { KEY: '${NO_SUCH}' }", 'env.KEY'],
    ["command: '${NO_SUCH}'", 'command'],
    ["url: '${NO_SUCH}/mcp', headers: { A: b }", 'url'],
    ["url: 'https://x.example', auth: { issuer: '${NO_SUCH}', clientId: c, clientSecret: d }", 'auth.issuer'],
  ])('puts aside only the server whose variable is not set, and keeps its name and prefix: %s', (server, place) => {
    write(
      `mcpServers: { files: { prefix: f, ${server} }, other: { command: x } }\nrules: [{ allow: { server: files, tool: a } }]\n`,
    );
    const { config, notes } = load();
    const fault = 'the variable NO_SUCH is not set (${NO_SUCH:-default} gives it a default)';
    expect(notes).toEqual([
      {
        path: ['mcpServers', 'files', ...place.split('.')],
        message: `${fault}; until then, the server cannot be used`,
      },
    ]);
    expect(config.mcpServers['files']).toMatchObject({ prefix: 'f', fault });
    expect(config.mcpServers['files']).not.toHaveProperty('command');
    expect(config.mcpServers['other']).toMatchObject({ command: 'x' });
    expect(config.mcpServers['other']).not.toHaveProperty('fault');
  });

  it('does not expand the content of a variable', () => {
    write("mcpServers: { files: { command: '${A}' } }");
    expect(load({ A: '${B}' }).config.mcpServers['files']).toMatchObject({ command: '${B}' });
  });

  it('lets TEMPORAL_ADDRESS win over the file', () => {
    write('temporal: { address: "one:7233", taskQueue: mine }');
    expect(load({ TEMPORAL_ADDRESS: 'two:7233' }).config.temporal).toMatchObject({
      address: 'two:7233',
      taskQueue: 'mine',
    });
  });
});

describe('loadConfig, problems', () => {
  it('reports every problem in its own line, with its path', () => {
    write(`
gateway: { port: '80', prot: 1 }
mode: test
mcpServers:
  a__b: { command: npx }
  c: {}
  d: { command: npx, argz: [] }
  e: { command: npx, prefix: 'a__b' }
identity:
  people: [{ name: Al, roles: [agent] }]
`);
    expect(problems()).toEqual([
      'countersign.yaml:2: gateway.port: expected number, received string',
      'countersign.yaml:2: gateway.prot: there is no such setting; docs/settings.md lists all',
      'countersign.yaml:3: mode: expected one of "development"|"production"',
      'countersign.yaml:5: mcpServers.a__b: is not a valid name: use letters, digits, dashes and single underscores, at most 32',
      'countersign.yaml:6: mcpServers.c.command: is missing',
      'countersign.yaml:7: mcpServers.d.argz: there is no such setting; docs/settings.md lists all',
      'countersign.yaml:8: mcpServers.e.prefix: use letters, digits, dashes and single underscores, at most 32',
      'countersign.yaml:10: identity.people[0].name: use lower-case letters, digits, dot, dash and underscore, at most 63',
    ]);
  });

  it.each([
    ['0', 'too small: expected number to be >=1'],
    ['1.5', 'expected a whole number'],
    ['1001', 'too big: expected number to be <=1000'],
    ['fast', 'expected number, received string'],
  ])('refuses a timeLimitFactor of %s', (factor, problem) => {
    write(`timeLimitFactor: ${factor}`);
    expect(problems()).toEqual([`countersign.yaml:1: timeLimitFactor: ${problem}`]);
  });

  it('refuses upstreams whose tools could have the same names', () => {
    write(`
mcpServers:
  a: { command: x }
  a_: { command: x }
  a-b: { command: x }
  a_b: { command: x }
  c: { command: x, prefix: a-b }
  d: { command: x, prefix: '' }
  e: { command: x, prefix: '' }
`);
    const shared = (line: number, one: string, another: string) =>
      `countersign.yaml:${line}: mcpServers.${one}: a tool of "${one}" could have the same name as one of "${another}"; give one of them another prefix`;
    expect(problems()).toEqual([shared(4, 'a_', 'a'), shared(7, 'c', 'a-b')]);
  });

  it('points at the place where the YAML is broken', () => {
    write('gateway:\n  port: 1\n port: 2\n');
    expect(problems()[0]).toMatch(/^countersign\.yaml:3:\d+: /);
  });

  it.each(['just text', '[1, 2]', '7'])('refuses a file that is not a mapping: %s', (text) => {
    write(text);
    expect(problems({ TEMPORAL_ADDRESS: 'x:1' })).toEqual([
      expect.stringMatching(/^countersign\.yaml: it holds no settings by name.*init --print/),
    ]);
  });

  it.each(['http://id.example', 'http://127.0.0.1.example'])(
    'refuses an issuer that others can answer for: %s',
    (issuer) => {
      write(`identity: { issuer: "${issuer}" }`);
      expect(problems()).toEqual([
        'countersign.yaml:1: identity.issuer: use https; http is allowed only to this machine',
      ]);
      write('identity: { issuer: "http://localhost:8080" }');
      expect(load({}).config.urls.issuer).toBe('http://localhost:8080');
    },
  );

  it.each([
    ['issuer: "http://id.example", clientId: a, clientSecret: b', /mcpServers\.bank/],
    ['issuer: "https://id.example", clientId: a', /either clientSecret or privateKey/],
    ['issuer: "https://id.example", clientId: a, clientSecret: b, privateKey: c', /either clientSecret or privateKey/],
    ['issuer: "https://id.example", clientId: a, clientSecret: b, onBehalfOfCaller: true', /needs privateKey/],
  ])('refuses credentials for an upstream that cannot work or cannot be trusted: %s', (auth, problem) => {
    const bank = (how: string) => `mcpServers: { bank: { url: "https://bank.example/mcp", auth: { ${how} } } }`;
    write(bank(auth));
    expect(problems().join('\n')).toMatch(problem);
    write(bank('issuer: "https://id.example", clientId: a, privateKey: { file: key.json }, onBehalfOfCaller: true'));
    expect(load({}).config.mcpServers).toHaveProperty('bank');
  });

  it('refuses a preprocessor that does more than read', () => {
    write('tools: { a__b: { preprocessor: true, effect: write }, a__c: { preprocessor: true, effect: read } }');
    expect(problems()).toEqual([
      'countersign.yaml:1: tools.a__b.preprocessor: a preprocessor only reads: set its effect to read, or remove preprocessor',
    ]);
  });

  it('requires in production what development starts by itself', () => {
    write('mode: production');
    expect(problems()).toEqual([
      'countersign.yaml: identity.issuer: the OIDC issuer is not set; mode production needs it',
      'countersign.yaml: DATABASE_URL: the variable is not set; mode production needs it',
    ]);
    write('mode: production\nidentity: { issuer: "https://id.example" }');
    expect(load({ DATABASE_URL: 'postgresql://x' }).config.urls.issuer).toBe('https://id.example');
  });
});
