import { basename } from 'node:path';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import { ownProperty } from '../../../../workflows/domain/canonical-json.ts';
import type { LoadedConfig } from '../../../shared/config/load.ts';
import { type Addition, withAdditions } from '../../configuration/additions.ts';
import { CliError } from '../../context.ts';
import type { Requested } from './requested.ts';

/** The configuration as it is, or as `init` would write it. */
export interface Draft {
  readonly file: string;
  readonly before: string | undefined;
  readonly text: string;
  readonly loaded: LoadedConfig;
}

type Server = Requested['servers'][number];

/** A server without rules yet, to connect to it. */
export const bare = (one: Server): Addition => ({ ...one, effects: [], rules: undefined });

/**
 * The servers that can be added. If all servers of a file are wanted, one that cannot is left out, and a note says why. Throws if the only
 * one cannot, or none can.
 *
 * @param check Reads a text as the configuration.
 */
export function usable(requested: Requested, draft: Draft, { isSeveral, check }: Choosing): Requested {
  const problems = requested.servers.map((server) => ({ server, problem: problemOf(server, draft, check) }));
  return withoutFailed(
    requested,
    problems.flatMap(({ server: { name }, problem }) => (problem === undefined ? [] : [{ name, problem }])),
    isSeveral,
  );
}

interface Choosing {
  readonly isSeveral: boolean;
  readonly check: (text: string) => LoadedConfig;
}

interface Failed {
  readonly name: string;
  readonly problem: CliError;
}

/** Leaves out what failed if others are left. Otherwise throws what is wrong. */
export function withoutFailed(requested: Requested, failed: readonly Failed[], isSeveral: boolean): Requested {
  if (failed.length === 0) return requested;
  const servers = requested.servers.filter(({ name }) => !failed.some((one) => one.name === name));
  if (servers.length > 0 && isSeveral) {
    const notes = failed.map(({ name, problem: { message } }) => `left out ${name}: ${message.replaceAll('\n', '; ')}`);
    return { ...requested, servers, notes: [...requested.notes, ...notes] };
  }
  throw new CliError([...failed.map(({ problem }) => problem.message), 'Nothing was changed.'].join('\n'));
}

function problemOf(server: Server, { file, text, loaded }: Draft, check: Choosing['check']): CliError | undefined {
  const { name } = server;
  // A server that is switched off is in the file, and not in the configuration.
  const line = loaded.lineOf(['mcpServers', name]) ?? loaded.lineOf(['servers', name]);
  if (line !== undefined || Object.hasOwn(loaded.config.mcpServers, name)) {
    const place = line === undefined ? basename(file) : `${basename(file)}:${line}`;
    return new CliError(
      `${name} is in ${place} already; use another name, or \`npx countersign remove ${name}\` first. ` +
        '`npx countersign lint` lists its tools without a rule',
    );
  }
  try {
    const { config } = check(withAdditions(text, [bare(server)]));
    const fault = ownProperty(config.mcpServers, name)?.fault;
    return fault === undefined ? undefined : new CliError(`${name}: ${fault}; set it, and repeat the command`);
  } catch (error) {
    // Its lines are those of a text that only this command has seen.
    if (error instanceof CountersignError)
      return new CliError(error.message.replaceAll(/^[^\s:]+\.ya?ml(:\d+)?: /gm, ''), { cause: error });
    if (error instanceof CliError) return error;
    throw error;
  }
}
