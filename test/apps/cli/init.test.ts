import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Desk, emptyDesk } from './run.ts';
import { OWN_COMMAND } from '../../../apps/cli/own-command.ts';

const written = (desk: Desk) => readFileSync(join(desk.folder, 'countersign.yaml'), 'utf8');

describe('countersign init', () => {
  it('writes a configuration that is valid, that editors can check, and that refuses every call', async () => {
    const desk = emptyDesk();
    const { code, out, err } = await desk.run(['init', '--yes']);
    expect([code, err]).toEqual([0, '']);
    for (const next of ['add', 'up', 'connect']) expect(out).toContain(`${OWN_COMMAND} ${next}`);
    expect(written(desk)).toMatch(/^# yaml-language-server: \$schema=https:\/\/\S+\/countersign.schema.json\n/);
    expect(readdirSync(desk.folder)).toEqual(['countersign.yaml']);
    expect((await desk.run(['policy', 'check'])).code).toBe(0);
    const { out: explained } = await desk.run(['policy', 'explain', '--tool', 'files__read_file', '--client', 'x']);
    expect(explained).toMatch(/^decision {2}denied, and no approval would change that/);
  });

  it('asks at a terminal who approves', async () => {
    const desk = emptyDesk();
    const { code, questions } = await desk.run(['init'], { answer: 'carol, Dave' });
    expect([code, questions.length]).toEqual([0, 1]);
    expect(parse(written(desk)).identity.people).toEqual([
      { name: 'agent', roles: ['agent'] },
      { name: 'carol', roles: ['approver'] },
      { name: 'dave', roles: ['approver'] },
      { name: 'olivia', roles: ['auditor'] },
    ]);
  });

  it.each(['agent', 'o’neil', '../x'])('refuses an approver called %s, and writes nothing', async (answer) => {
    const desk = emptyDesk();
    expect(await desk.run(['init'], { answer })).toMatchObject({
      code: 2,
      err: expect.stringContaining('cannot be the name'),
    });
    expect(readdirSync(desk.folder)).toEqual([]);
  });

  it('writes a policy folder where it is asked to, which fits beside the rules', async () => {
    const desk = emptyDesk();
    expect((await desk.run(['init', '--yes', '--policies'])).code).toBe(0);
    expect(parse(written(desk)).pdp).toEqual({ policies: './policies' });
    expect((await desk.run(['policy', 'check'])).code).toBe(0);
  });

  it('overwrites nothing', async () => {
    const desk = new Desk('host: 127.0.0.1\n');
    const { code, err } = await desk.run(['init', '--yes']);
    expect(code).toBe(1);
    expect(err).toContain('is there already, and stays unchanged; change it with `npx countersign add`');
    expect(written(desk)).toBe('host: 127.0.0.1\n');
    const other = emptyDesk();
    writeFileSync(join(other.folder, 'policies'), 'mine');
    expect((await other.run(['init', '--yes', '--policies'])).code).toBe(1);
    expect(existsSync(join(other.folder, 'countersign.yaml'))).toBe(false);
  });

  it('prints without writing', async () => {
    const desk = emptyDesk();
    const { out } = await desk.run(['init', '--print']);
    expect(parse(out)).toMatchObject({ mcpServers: {}, rules: [] });
    expect(readdirSync(desk.folder)).toEqual([]);
  });
});
