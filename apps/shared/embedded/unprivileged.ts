import { spawnSync } from 'node:child_process';
import { chownSync } from 'node:fs';

/** A way to run a program that refuses to run as root. */
export interface Launch {
  /** For people. */
  readonly how: string;
  /** The command line that runs `command`. The started process becomes `command`, so its pid is the program's. */
  wrap(command: string, args: string[]): { command: string; args: string[] };
  readonly identity: { uid?: number; gid?: number };
  /** Gives a file or folder to whom the program runs as. */
  own(path: string): void;
}

const NOBODY = 65_534;

/**
 * Ways to run PostgreSQL's programs, best first. For an ordinary user that is simply to run them. For root, a user
 * namespace keeps the files root's own and works below folders only root may enter; where that is forbidden, an
 * existing unprivileged user takes over. No user is ever created.
 */
export function launches(searchPath: string): Launch[] {
  const plain = (command: string, args: string[]) => ({ command, args });
  if (process.getuid?.() !== 0) return [{ how: 'directly', wrap: plain, identity: {}, own: () => undefined }];
  const namespace: Launch = {
    how: 'in a user namespace',
    wrap: (command, args) => ({
      command: 'unshare',
      args: ['--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--', command, ...args],
    }),
    identity: {},
    own: () => undefined,
  };
  const users = ['postgres', 'nobody'].flatMap((name): Launch[] => {
    const uid = idOf(name, '-u', searchPath);
    const gid = idOf(name, '-g', searchPath);
    if (uid === undefined || gid === undefined) return [];
    return [{ how: `as user ${name}`, wrap: plain, identity: { uid, gid }, own: (path) => chownSync(path, uid, gid) }];
  });
  return [namespace, ...users];
}

function idOf(user: string, flag: '-u' | '-g', searchPath: string): number | undefined {
  const answer = spawnSync('id', [flag, user], { encoding: 'utf8', env: { PATH: searchPath } });
  return answer.status === 0 ? Number(answer.stdout) : undefined;
}
