import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { PATIENT_FACTOR } from '../../support/time.ts';
import { Desk } from './run.ts';

const textOf = (desk: Desk) => readFileSync(join(desk.folder, 'countersign.yaml'), 'utf8');
const KEPT = `# mine
timeLimitFactor:   ${PATIENT_FACTOR}
mcpServers:
  git: { command: y }   # stays
tools: {}
rules:
  - allow: git__log   # stays
`;
const LISTING = [packagePath('test', 'clients', 'fixtures', 'listing-server.mjs'), '{}'];

const WITH_NOT = `mcpServers:
  git: { command: y }
  files: { command: x }
rules:
  - deny: { server: git, not: { server: files } }
`;

describe('countersign remove', () => {
  it('undoes `add`, to the byte, and says what stays', async () => {
    const desk = new Desk(KEPT);
    const added = await desk.run(
      ['add', 'desk', '--env', 'KEY=${DESK_KEY}', '--yes', '--', process.execPath, ...LISTING],
      {
        env: { DESK_KEY: 'x' },
      },
    );
    expect([added.code, textOf(desk).includes('desk changes')]).toEqual([0, true]);
    const { code, out, err } = await desk.run(['remove', 'desk', '--yes']);
    expect({ code, text: textOf(desk) }).toEqual({ code: 0, text: KEPT });
    expect(err).toMatch(/^- {3}desk:$/m);
    for (const what of ['accepted descriptions', 'stay open', 'keep their entry', 'cache of npx', 'DESK_KEY'])
      expect(out).toContain(what);
  });

  it('shows the change at a terminal, and writes nothing without a yes', async () => {
    const desk = new Desk(KEPT);
    const { code, err, questions } = await desk.run(['remove', 'git'], { answer: 'n' });
    expect([code, questions]).toEqual([1, [expect.stringContaining('Write this to countersign.yaml?')]]);
    expect(err).toContain('-   - allow: git__log   # stays');
    expect(textOf(desk)).toBe(KEPT);
  });

  it('says the same to programs', async () => {
    const desk = new Desk(KEPT);
    const printed = await desk.run(['remove', 'git', '--print', '--json']);
    expect(JSON.parse(printed.out)).toMatchObject({ written: false });
    expect(textOf(desk)).toBe(KEPT);
    const { out } = await desk.run(['remove', 'git', '--yes', '--json']);
    expect(JSON.parse(out)).toMatchObject({ written: true, server: 'git', removed: { tools: [], rules: 1 } });
    expect(textOf(desk)).toContain('mcpServers: {}\n');
  });

  it.each([
    [['remove', 'other', '--yes'], KEPT, 2, 'countersign.yaml has no server other; it has git'],
    [['remove', 'git'], KEPT, 2, 'add --yes to write, or --print'],
    [['remove', '--yes'], KEPT, 2, 'missing required argument'],
    [['remove', 'files', '--yes'], WITH_NOT, 1, 'nothing was written. Correct it first:\n.*no "files" in mcpServers'],
    [['remove', 'git', '--yes'], 'mcpServers: { git: { command: x } }\nprot: 1\n', 1, 'countersign.yaml:2: prot'],
  ])('changes nothing, and says what to do: %j', async (args, text, exit, said) => {
    const desk = new Desk(text);
    const { code, err } = await desk.run(args);
    expect(err).toMatch(new RegExp(said));
    expect([code, textOf(desk)]).toEqual([exit, text]);
  });
});
