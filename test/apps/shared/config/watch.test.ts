import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import type { Config } from '../../../../apps/shared/config/config.ts';
import { loadConfig, type LoadedConfig } from '../../../../apps/shared/config/load.ts';
import { type WatchedConfig, watchConfig } from '../../../../apps/shared/config/watch.ts';
import { readEnvironment } from '../../../../apps/shared/config/env.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { recordingLog } from '../../../support/pdp.ts';
import { waitFor } from '../../../support/wait-for.ts';

let folder: string;
let file: string;
let clock: ManualClock;
let watch: WatchedConfig | undefined;
let said: string[];
let { lines, log } = recordingLog();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-live-'));
  file = join(folder, 'countersign.yaml');
  clock = new ManualClock();
  said = [];
  ({ lines, log } = recordingLog());
});
afterEach(async () => {
  await watch?.close();
  rmSync(folder, { recursive: true });
});

const readFile = (): LoadedConfig => loadConfig({ environment: readEnvironment({}), configFile: file, cwd: folder });

/** Watches a file with this text. */
function open(text: string, load = readFile): WatchedConfig {
  writeFileSync(file, text);
  watch = watchConfig(readFile(), { load, clock, log, say: (line) => said.push(line) });
  watch.start();
  return watch;
}

/** Has the watcher look again and again until the condition is true. */
const looking = (condition: () => unknown) =>
  waitFor(
    async () => {
      await clock.advance(1_000);
      return condition();
    },
    { everyMs: 1 },
  );
/** Several looks, each of which has come to its end. */
const looks = async (count: number) => {
  const until = clock.monotonicMs() + count * 1_000;
  await looking(() => clock.monotonicMs() >= until);
};

const alarms = () => lines.filter(({ alarm }) => alarm !== undefined);
const server = (prefix: string) => `mcpServers: { bank: { command: bank, prefix: ${prefix} } }\n`;
const rule = (verb: string) => `rules: [{ ${verb}: '*', name: one }]\n`;
const prefixIn = ({ mcpServers }: Config) => mcpServers['bank']?.prefix;

/** A file as an orchestrator mounts it: a link into a folder that another link swaps. */
function mounted(text: string): (next: string) => void {
  let versions = 0;
  const point = (next: string) => {
    const version = join(folder, `version-${(versions += 1)}`);
    mkdirSync(version);
    writeFileSync(join(version, 'countersign.yaml'), next);
    symlinkSync(version, join(folder, 'new'));
    renameSync(join(folder, 'new'), join(folder, 'data'));
  };
  point(text);
  symlinkSync(join('data', 'countersign.yaml'), file);
  return point;
}

describe('a change of the file', () => {
  it.each<[string, (text: string) => void]>([
    ['written in place', (text) => writeFileSync(file, text)],
    [
      'saved by an editor, which replaces the file',
      (text) => {
        writeFileSync(`${file}~`, text);
        renameSync(`${file}~`, file);
      },
    ],
  ])('is in force once it is %s', async (_how, save) => {
    const opened = open(server('old'));
    save(server('new'));
    await looking(() => prefixIn(opened.config) === 'new');
    expect(said).toEqual(['countersign.yaml has changed; now in force: mcpServers']);
    expect(alarms()).toEqual([]);
  });

  it('is in force when an orchestrator swaps the folder that the file is linked from', async () => {
    const point = mounted(server('old'));
    watch = watchConfig(readFile(), { load: readFile, clock, log });
    watch.start();
    point(server('new'));
    await looking(() => watch !== undefined && prefixIn(watch.config) === 'new');
  });

  it('goes over to the file that takes the place of the example, and reads paths from the folder of that file', async () => {
    const own = join(folder, 'own', 'countersign.yaml');
    const fileNow = () => (existsSync(own) ? own : file);
    const load = () => loadConfig({ environment: readEnvironment({}), configFile: fileNow(), cwd: folder });
    writeFileSync(file, server('old'));
    watch = watchConfig(load(), { load, fileNow, clock, log, say: (line) => said.push(line) });
    watch.start();
    await looks(3);
    expect([said, watch.state().file]).toEqual([[], file]);
    mkdirSync(join(folder, 'own'));
    writeFileSync(own, `${server('new')}pdp: { policies: mine }\n`);
    await looking(() => said.length > 0);
    expect(said).toEqual([`${own} takes the place of the example; now in force: mcpServers, pdp.policies`]);
    expect(watch.config.pdp.policies).toBe(join(folder, 'own', 'mine'));
    expect(watch.state()).toMatchObject({ file: own, pending: [] });
  });

  it('comes into force in all parts without a wait in between', async () => {
    const opened = open(server('old') + rule('allow'));
    const seen: string[] = [];
    const part = (name: string) =>
      opened.follow(async (next) => {
        // The slowest part prepares last; nothing is in force before.
        await Promise.resolve();
        seen.push(`${name} prepares ${prefixIn(next)}, ${prefixIn(opened.config)} in force`);
        return {
          commit() {
            seen.push(`${name} commits ${prefixIn(opened.config)} ${opened.config.rules?.[0]?.verb}`);
            void Promise.resolve().then(() => seen.push('other work'));
          },
        };
      });
    part('a');
    part('b');
    const before = opened.inForce();
    writeFileSync(file, server('new') + rule('deny'));
    await looking(() => seen.includes('other work'));
    expect(seen).toEqual([
      'a prepares new, old in force',
      'b prepares new, old in force',
      'a commits new deny',
      'b commits new deny',
      'other work',
      'other work',
    ]);
    expect(opened.inForce()).not.toBe(before);
    expect([opened.inForce().gateway, opened.config.gateway.port]).toEqual([before.gateway, before.gateway.port]);
  });

  it('reaches every live setting, and no other', async () => {
    const opened = open('gateway: { port: 4100 }\n');
    const next = `
mcpServers: { bank: { command: bank } }
tools: { bank__pay: { effect: write } }
rules: [{ approve: '*', name: one, by: { people: alice } }]
approvals: { templates: { two: { stages: [{ name: s, approvers: { people: [bob] } }] } } }
identity: { people: [{ name: carol, roles: [approver] }], sessionSeconds: 60 }
gateway: { port: 4200 }
`;
    writeFileSync(file, next);
    await looking(() => opened.state().pending.length > 0);
    const { config } = opened;
    expect(Object.keys(config.mcpServers)).toEqual(['bank']);
    expect(config.tools['bank__pay']?.effect).toBe('write');
    expect(config.pdp.rules?.all.map(({ name }) => name)).toEqual(['one']);
    expect(Object.keys(config.approvals.templates)).toEqual(expect.arrayContaining(['two']));
    expect(config.identity.people.map(({ name }) => name)).toEqual(['carol']);
    expect([config.gateway.port, config.identity.sessionSeconds]).toEqual([4100, 8 * 3_600]);
    const pending = ['gateway.port', 'identity.sessionSeconds'];
    expect([...opened.state().pending].sort()).toEqual(pending);
    expect(lines.filter(({ level }) => level === 40)).toMatchObject([{ settings: expect.arrayContaining(pending) }]);
    writeFileSync(file, `${next}# later\n`);
    await looks(4);
    expect(lines.filter(({ level }) => level === 40)).toHaveLength(1);
  });

  it('is read when the file changes between the start and the first look', async () => {
    writeFileSync(file, server('old'));
    watch = watchConfig(readFile(), { load: readFile, clock, log });
    writeFileSync(file, server('new'));
    watch.start();
    await looking(() => watch !== undefined && prefixIn(watch.config) === 'new');
  });

  it('is not taken from a file that changes while it is read', async () => {
    const torn: string[] = [];
    const opened = open(server('old'), () => {
      const loaded = readFile();
      if (prefixIn(loaded.config) === 'half') {
        torn.push('half');
        writeFileSync(file, server('whole'));
      }
      return loaded;
    });
    const seen: unknown[] = [];
    opened.follow(async (next) => {
      seen.push(prefixIn(next));
      return { commit: () => undefined };
    });
    writeFileSync(file, server('half'));
    await looking(() => prefixIn(opened.config) === 'whole');
    expect([torn, seen]).toEqual([['half'], ['whole']]);
  });

  it('is read at once on demand', async () => {
    const opened = open(server('old'));
    writeFileSync(file, server('new'));
    await opened.reload();
    expect(prefixIn(opened.config)).toBe('new');
  });
});

describe('a file that cannot be used', () => {
  it('changes nothing and has all its problems in the log, once for each state of the file', async () => {
    const opened = open(server('old') + rule('allow'));
    const before = opened.inForce();
    const mistakes = Array.from({ length: 20 }, (_, index) => `  - alow: tool-${index}\n`).join('');
    writeFileSync(file, `${server('new')}rules:\n${mistakes}`);
    await looking(() => opened.state().rejected);
    const problems = opened.state().rejected?.problems ?? [];
    expect(problems).toHaveLength(20);
    expect(problems[0]).toMatch(/^countersign\.yaml:3: rules\[0\].*alow/);
    expect(alarms()).toMatchObject([{ alarm: 'configuration_rejected', problems }]);
    const messages = lines.map(({ msg }) => msg);
    expect(messages.filter((msg) => problems.includes(String(msg)))).toEqual(problems);
    expect(opened.inForce()).toBe(before);
    await looks(25);
    expect(alarms()).toHaveLength(1);

    writeFileSync(file, `${server('new')}rules:\n${mistakes}# still\n`);
    await looking(() => alarms().length === 2);
    await opened.reload();
    expect(alarms()).toHaveLength(3);
    expect(prefixIn(opened.config)).toBe('old');

    writeFileSync(file, server('new') + rule('deny'));
    await looking(() => opened.state().rejected === undefined);
    expect(prefixIn(opened.config)).toBe('new');
    expect(lines.at(-1)).toMatchObject({
      level: 40,
      msg: 'countersign.yaml can be used again; now in force: mcpServers, rules',
    });
  });

  it('changes nothing while it is missing, nor when it comes back as it was', async () => {
    const opened = open(server('old'));
    const before = opened.inForce();
    renameSync(file, `${file}.away`);
    await looking(() => opened.state().rejected);
    expect(opened.state().rejected?.problems).toEqual([`there is no file ${file}; put it back`]);
    renameSync(`${file}.away`, file);
    await looking(() => opened.state().rejected === undefined);
    expect([opened.inForce() === before, alarms().length]).toEqual([true, 1]);
  });

  it('changes nothing where its live settings do not fit those of the start', async () => {
    const opened = open('approvals: { owners: [] }\n');
    const stage = '{ name: s, approvers: { people: [bob] }, automatic: bot }';
    writeFileSync(
      file,
      `approvals:\n  resolvers: { bot: { url: 'https://bot.example', secret: whsec_${Buffer.alloc(32).toString('base64')} } }\n` +
        `  templates: { t: { stages: [${stage}] } }\n`,
    );
    expect(Object.keys(readFile().config.approvals.templates)).toContain('t');
    await looking(() => opened.state().rejected);
    expect(opened.state().rejected?.problems).toEqual([expect.stringContaining('restart, or undo those')]);
    expect(Object.keys(opened.config.approvals.templates)).not.toContain('t');
  });

  it('changes nothing in any part when one part refuses it, and is tried again until that part takes it', async () => {
    const opened = open(server('old'));
    const seen: string[] = [];
    let isRefused = true;
    opened.follow(async () => ({ commit: () => seen.push('commit'), discard: () => seen.push('discard') }));
    opened.follow(async () => {
      if (isRefused) throw new CountersignError('ERR_CONFIG_INVALID', 'policies: no folder');
      return { commit: () => seen.push('commit of the other') };
    });
    writeFileSync(file, server('new'));
    await looking(() => opened.state().rejected);
    expect(seen).toEqual(['discard']);
    expect(prefixIn(opened.config)).toBe('old');
    await looking(() => seen.length > 2);
    expect([...new Set(seen)]).toEqual(['discard']);
    expect(alarms()).toMatchObject([{ alarm: 'configuration_rejected', problems: ['policies: no folder'] }]);
    isRefused = false;
    await looking(() => prefixIn(opened.config) === 'new');
    expect(seen.slice(-2)).toEqual(['commit', 'commit of the other']);
    expect(opened.state().rejected).toBeUndefined();
  });
});
