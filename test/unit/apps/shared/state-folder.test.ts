import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadDevelopmentSecrets } from '../../../../apps/shared/config/development-secrets.ts';
import { demandOwnState } from '../../../../apps/shared/state-folder.ts';

let project: string;
let state: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'state-'));
  state = join(project, '.countersign');
});
afterEach(() => rmSync(project, { recursive: true }));

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: project });

describe('a state folder', () => {
  it('is made for its owner alone, and git ignores it', async () => {
    git('init', '-q');
    await loadDevelopmentSecrets(state);
    expect(statSync(state).mode & 0o777).toBe(0o700);
    git('add', '-A');
    expect(git('ls-files').toString()).toBe('');
    await expect(loadDevelopmentSecrets(state)).resolves.toMatchObject({ secrets: {} });
  });

  it.each<[string, () => void, RegExp]>([
    ['others can change', () => chmodSync(state, 0o777), /can be changed by others.*chmod -R go-w/],
    ['its group can change', () => chmodSync(state, 0o770), /can be changed by others/],
    [
      'is a link',
      () => {
        renameSync(state, `${state}-other`);
        symlinkSync(`${state}-other`, state);
      },
      /is a symbolic link.*COUNTERSIGN_STATE/,
    ],
    [
      'is no folder',
      () => {
        rmSync(state, { recursive: true });
        writeFileSync(state, '');
      },
      /is of another kind/,
    ],
    [
      'has keys that others can change',
      () => chmodSync(join(state, 'secrets.json'), 0o666),
      /secrets.json can be changed by others/,
    ],
    [
      'has keys that others can read',
      () => chmodSync(join(state, 'secrets.json'), 0o644),
      /secrets.json can be read by others.*delete it/,
    ],
    [
      'has keys behind a link',
      () => {
        renameSync(join(state, 'secrets.json'), join(project, 'mine.json'));
        symlinkSync(join(project, 'mine.json'), join(state, 'secrets.json'));
      },
      /secrets.json is a symbolic link/,
    ],
    [
      'has a record of a running stack that others can change',
      () => {
        writeFileSync(join(state, 'run.json'), '{}');
        chmodSync(join(state, 'run.json'), 0o666);
      },
      /run.json can be changed by others/,
    ],
    [
      'came with a repository',
      () => {
        git('init', '-q');
        git('add', '-f', '.countersign');
      },
      /is tracked by git.*delete it/,
    ],
    [
      'came with a repository that names a program to run',
      () => {
        git('init', '-q');
        git('add', '-f', '.countersign');
        git('config', 'core.fsmonitor', `touch ${join(project, 'ran')}`);
      },
      /is tracked by git/,
    ],
  ])('is refused if it %s', async (_what, spoil, said) => {
    const { secrets } = await loadDevelopmentSecrets(state);
    expect(secrets.sessionSecret).not.toBe('');
    spoil();
    await expect(loadDevelopmentSecrets(state)).rejects.toMatchObject({
      code: 'ERR_CONFIG_INVALID',
      message: expect.stringMatching(said),
    });
    expect(() => statSync(join(project, 'ran'))).toThrow('ENOENT');
  });

  const isRoot = process.getuid?.() === 0;
  (isRoot ? it : it.skip)('is refused if it belongs to another user (needs root)', async () => {
    await loadDevelopmentSecrets(state);
    lchownSync(state, 65_534, 65_534);
    expect(() => demandOwnState(state)).toThrow(/belongs to another user/);
    lchownSync(state, 0, 0);
    mkdirSync(join(state, 'postgres'));
    lchownSync(join(state, 'postgres'), 65_534, 65_534);
    expect(() => demandOwnState(state)).not.toThrow();
  });
});
