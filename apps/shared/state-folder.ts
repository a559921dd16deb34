import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, type Stats, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CountersignError } from '../../workflows/domain/errors.ts';

const WRITABLE_BY_OTHERS = 0o022;
const GIT_MS = 5_000;

/**
 * Makes the state folder, or checks that only this user wrote it. Its content decides who approves: a process that knows `secrets.json` can sign
 * for all people. So a folder that came with a clone, that is a link, or that others can change is refused, with the next step. Throws
 * `ERR_CONFIG_INVALID`. Windows has no such modes: there, the profile folder protects the files.
 */
export function demandOwnState(stateDir: string): void {
  if (!existsSync(stateDir)) {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    // So that git commits no keys.
    writeFileSync(join(stateDir, '.gitignore'), '*\n');
    return;
  }
  refuse(stateDir, problemOf(lstatSync(stateDir), 'isDirectory'));
  // Folders in it belong to PostgreSQL and Temporal, which run as other users where this user is root.
  for (const { name } of readdirSync(stateDir, { withFileTypes: true }).filter((one) => !one.isDirectory()))
    refuseFile(join(stateDir, name));
  if (isTracked(stateDir))
    refuse(stateDir, 'is tracked by git, so that everybody with the repository may know its keys', REMADE);
}

const OWN = 'Set COUNTERSIGN_STATE to a folder of your own';
const REMADE = `Run \`git rm -r --cached\` on it and delete it: the next start makes a new one. Or set COUNTERSIGN_STATE to a folder of your own`;

function refuse(
  path: string,
  why: string | undefined,
  next = why === CHANGEABLE ? `${OWN}, or correct its rights: chmod -R go-w ${path}` : OWN,
) {
  if (why !== undefined) throw new CountersignError('ERR_CONFIG_INVALID', `${path} ${why}. ${next}`);
}

function refuseFile(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  // Sockets of servers are no files. Locks and temporary files may have gone.
  if (found !== undefined && (found.isFile() || found.isSymbolicLink())) refuse(path, problemOf(found, 'isFile'));
}

const CHANGEABLE = 'can be changed by others';

function problemOf(found: Stats, kind: 'isFile' | 'isDirectory'): string | undefined {
  if (found.isSymbolicLink()) return 'is a symbolic link';
  if (!found[kind]()) return 'is of another kind than expected';
  if (process.getuid === undefined) return undefined;
  if (found.uid !== process.getuid()) return 'belongs to another user';
  return (found.mode & WRITABLE_BY_OTHERS) === 0 ? undefined : CHANGEABLE;
}

/** Without git, or outside a repository, nothing is tracked. A repository of a stranger can name a program to run, which is switched off. */
function isTracked(stateDir: string): boolean {
  const git = spawnSync('git', ['-c', 'core.fsmonitor=false', 'ls-files', '-z', '--', stateDir], {
    cwd: dirname(stateDir),
    encoding: 'utf8',
    timeout: GIT_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return git.status === 0 && git.stdout !== '';
}
