import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import { FILE_NAME, loadConfig, type LoadedConfig } from '../../shared/config/load.ts';
import { CliError, type GlobalOptions, type Io } from '../context.ts';
import { encodedLike, readTextSync } from '../../shared/text-file.ts';

/**
 * The configuration that a command writes: `--config`, else `COUNTERSIGN_CONFIG`, else `countersign.yaml` of this folder. Throws if that one
 * is a link out of the folder.
 */
export function ownFile(io: Io, command: Command): string {
  const { config } = command.optsWithGlobals<GlobalOptions>();
  const named = config ?? io.environment.configFile;
  if (named !== undefined) return resolve(io.cwd, named);
  const file = resolve(io.cwd, FILE_NAME);
  demandInside(file, io.cwd);
  return file;
}

/** The text of a file; undefined if there is none. */
export const textOf = (file: string): string | undefined => (existsSync(file) ? readTextSync(file) : undefined);

/**
 * Checks a text as the configuration at `file`, which stays as it is. `variables` are there beside those of the environment. Throws
 * `ERR_CONFIG_INVALID` with one line per problem.
 */
export function checkedText(
  io: Pick<Io, 'environment' | 'cwd'>,
  { file, text, variables = {} }: { file: string; text: string; variables?: Readonly<Record<string, string>> },
): LoadedConfig {
  const environment = { ...io.environment, variables: { ...io.environment.variables, ...variables } };
  return loadConfig({ environment, cwd: io.cwd, configFile: file, text });
}

/**
 * Throws if a file of a project is, or stands behind, a link that leads out of its folder. A cloned repository could have such a link, by
 * which a command would write a file of the user's own. Files that a user names may be links.
 */
export function demandInside(file: string, folder: string): void {
  const known = [file, dirname(file)].find((path) => existsSync(path));
  if (known === undefined) return;
  const way = relative(realpathSync(folder), realpathSync(known));
  if (way.split(sep)[0] !== '..' && !isAbsolute(way)) return;
  throw new CliError(
    `${file} is a link that leads out of ${folder}; nothing was written. Remove the link, or name the file it leads to`,
  );
}

/**
 * Replaces a file in one step, so that no reader sees half of it. It keeps the mode of the file, and follows a link to it. Throws if the
 * file changed since it was read.
 */
export function replaceFile(file: string, text: string, before: string | undefined): void {
  if (textOf(file) !== before) throw new CliError(`${file} changed meanwhile; nothing was written. Repeat the command`);
  mkdirSync(dirname(file), { recursive: true });
  const target = existsSync(file) ? realpathSync(file) : file;
  const draft = `${target}.${process.pid}.new`;
  try {
    writeFileSync(draft, existsSync(target) ? encodedLike(readFileSync(target), text) : text, { flag: 'wx' });
    if (before !== undefined) chmodSync(draft, statSync(target).mode & 0o777);
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
