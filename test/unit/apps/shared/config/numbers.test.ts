import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readEnvironment } from '../../../../../apps/shared/config/env.ts';
import { loadConfig } from '../../../../../apps/shared/config/load.ts';

const load = (text: string) =>
  loadConfig({ environment: readEnvironment({}), configFile: 'countersign.yaml', cwd: '/nowhere', text }).config;

function problemsOf(text: string): string[] {
  try {
    load(text);
  } catch (error) {
    return (error as Error).message.split('\n');
  }
  return [];
}

/** Numbers as an author writes them without quotes. JSON writes each of them in another way. */
const UNUSUAL = [
  '0123',
  '12345678901234567890',
  '1133012345678901234',
  '1.10',
  '0x1F',
  '0o17',
  '1e3',
  '+49151234567',
  '.5',
  '7.',
  '-0.0',
];

describe('a value without quotes where a text is wanted', () => {
  it.each([...UNUSUAL, '8080', 'True', 'true', '2026-11-28', '.inf'])('stays as it is written: %s', (written) => {
    const server = load(`mcpServers:
  a: { command: x, args: [${written}], env: { A: ${written}, B: ${written} } }
  b: { url: https://b.example, headers: { X-Account: ${written} } }
`).mcpServers;
    expect(server).toMatchObject({
      a: { args: [written], env: { A: written, B: written } },
      b: { headers: { 'X-Account': written } },
    });
  });

  it('stays as it is written behind an anchor, and the number elsewhere stays a number', () => {
    const { mcpServers, gateway } = load(`gateway: { port: &port 4100 }
mcpServers:
  a: { command: x, env: &env { PORT: *port, ID: 007 } }
  b: { command: x, env: *env }
`);
    expect([gateway.port, mcpServers]).toMatchObject([
      4100,
      { a: { env: { PORT: '4100', ID: '007' } }, b: { env: { PORT: '4100', ID: '007' } } },
    ]);
  });

  it('ends where anchors name what they stand in, or each other many times', () => {
    const bomb = Array.from({ length: 40 }, (_, at) => `  a${at + 1}: &a${at + 1} [*a${at}, *a${at}]`).join('\n');
    expect(() => load(`mcpServers:\n  a: { command: x, env: &e { A: *e } }\n`)).toThrow('write the values out');
    expect(() => load(`tools:\n  a0: &a0 [1]\n${bomb}\n`)).toThrow('write the values out');
    expect(() =>
      load(`mcpServers:\n  s:\n    command: x\n    env:\n      a0: &a0 [1]\n${bomb.replaceAll(/^/gm, '    ')}\n`),
    ).toThrow('write the values out');
  });

  it('stays as it is written in the block of VS Code, and null leaves a variable out', () => {
    const { env } = load('servers:\n  a:\n    command: x\n    env:\n      ID: 0123\n      N: null\n      T: ~\n')
      .mcpServers['a'] as { env: object };
    expect(env).toEqual({ ID: '0123' });
  });

  it('stays as it is written as the name of a setting', () => {
    expect(Object.keys(load('tools: { 0123: { effect: read }, 1.10: { effect: read } }').tools)).toEqual([
      '0123',
      '1.10',
    ]);
    expect(Object.keys(load('requirements:\n  1133012345678901234: { met: true }\n').requirements)).toEqual([
      '1133012345678901234',
    ]);
  });

  it.each([
    ['mcpServers:\n  a:\n    command: 7z\n    cwd: 2026\n', 'countersign.yaml:4: mcpServers.a.cwd: '],
    [
      'rules:\n  - allow:\n      tool: x\n      caller: { subject: 4711 }\n',
      'countersign.yaml:4: rules[0].allow.caller.subject: ',
    ],
    ['audit:\n  clientId: 123\n', 'countersign.yaml:2: audit.clientId: '],
    ['identity:\n  people:\n    - { name: 7, roles: [agent] }\n', 'countersign.yaml:3: identity.people[0].name: '],
    [
      'approvals:\n  templates:\n    t: { stages: [{ name: a, approvers: { people: [42] } }] }\n',
      'approvers.people[0]: ',
    ],
  ])('is an error that says to put it in quotes where the text cannot be known: %j', (text, place) => {
    expect(problemsOf(text)).toEqual([expect.stringContaining(place)]);
    expect(problemsOf(text)[0]).toContain('put it in quotes');
  });
});

describe('a number that cannot be kept as it is written', () => {
  const where = (written: string) => `rules:
  - allow: { tool: x, where: { code: ${written} } }
`;

  it.each(['0123', '12345678901234567890', '1133012345678901234', '0x1F', '0o17', '+49151234567', '-007'])(
    'is an error in a rule: %s',
    (written) => {
      for (const text of [where(written), where(`[1, ${written}]`), where(`{ over: ${written} }`)]) {
        expect(problemsOf(text)).toEqual([
          expect.stringMatching(/^countersign.yaml:2: rules\[0\]\.allow\.where\.code.*put it in quotes/),
        ]);
      }
    },
  );

  it('is an error in every other place', () => {
    expect(problemsOf('requirements:\n  a: { claim: account, value: 0123 }\n')).toEqual([
      expect.stringMatching(/^countersign.yaml:2: requirements\.a\.value: .*put it in quotes/),
    ]);
    expect(problemsOf('gateway:\n  port: 0x1004\n')[0]).toMatch(/^countersign.yaml:2: gateway.port: /);
  });

  it.each(['0', '123', '-5', '1.10', '1e3', '2.5E-3', '0.0001', '900000000000000'])(
    'does not concern %s',
    (written) => {
      expect(load(where(written)).pdp.rules?.all[0]?.match.where?.[0]?.conditions).toEqual([
        { kind: 'oneOf', values: [Number(written)] },
      ]);
    },
  );

  it('is never another number than the one that is written', () => {
    const digits = fc.stringMatching(/^[+-]?\d{1,25}(\.\d{1,8})?$/);
    fc.assert(
      fc.property(digits, (written) => {
        const found = problemsOf(where(written));
        if (found.length > 0) return;
        const [condition] = load(where(written)).pdp.rules?.all[0]?.match.where?.[0]?.conditions ?? [];
        const [value] = (condition as unknown as { values: number[] }).values;
        const trimmed = (text: string) =>
          text
            .replace(/^\+/, '')
            .replace(/(\.\d*?)0+$/, '$1')
            .replace(/\.$/, '')
            .replace(/^-0$/, '0');
        expect(trimmed(String(value))).toBe(trimmed(written));
      }),
    );
  });
});

describe('a duration', () => {
  const withSeconds = (place: string, value: number) => {
    const names = place.split('.');
    return load(names.map((name, depth) => `${'  '.repeat(depth)}${name}:`).join('\n') + ` ${value}\n`);
  };
  it.each([
    'gateway.requestTtlSeconds',
    'gateway.resultRetentionSeconds',
    'approvals.requestTtlSeconds',
    'approvals.approvalTtlSeconds',
    'pdp.retentionSeconds',
  ])('of more than ten years is refused with its place and its limit: %s', (place) => {
    expect(() => withSeconds(place, 10 * 365 * 86_400)).not.toThrow();
    for (const tooLong of [316_224_001, 604_800_000_000, Number.MAX_SAFE_INTEGER]) {
      const refused = `countersign.yaml:${place.split('.').length}: ${place}: use at most 316224000 seconds (ten years)`;
      expect(() => withSeconds(place, tooLong)).toThrow(refused);
    }
  });
});
