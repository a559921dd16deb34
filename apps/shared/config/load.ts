import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { ZodError } from 'zod';
import { isObject, objectOf, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { sha256 } from '../crypto.ts';
import { type Config, parseConfig } from './config.ts';
import type { Environment } from './env.ts';
import { packagePath } from './files.ts';
import { fromHost } from './host-servers.ts';
import { formatProblem, problemsOf, type SettingProblem } from './problems.ts';
import { ruleProblemsOf } from './rule-problems.ts';
import { incomplete } from './upstream-settings.ts';
import { type LineOf, yamlContent, type YamlContent } from './yaml-content.ts';
import { readTextSync } from '../text-file.ts';

interface ConfigSource {
  readonly environment: Environment;
  /** Value of `--config`. */
  readonly configFile?: string | undefined;
  /** Folder in which the process starts. */
  readonly cwd: string;
  /** Content of `configFile` that is not written yet. Default: what the file contains. */
  readonly text?: string | undefined;
}

export interface LoadedConfig {
  readonly config: Config;
  readonly file: string;
  /** Where the folder of the process would have a configuration, if it has none and the example counts. */
  readonly ownFile?: string;
  readonly lineOf: LineOf;
  /** Settings of MCP hosts that are ignored: each deserves a warning, and none stops the start. */
  readonly notes: readonly SettingProblem[];
  /** The settings as the file says them, with variables replaced and without defaults. May hold secrets. */
  readonly raw: unknown;
  /** SHA-256 of the text of the file: two states of the file with the same id say the same. */
  readonly id: string;
}

/** State folder in the folder of the process, where no variable names another. */
export const DEFAULT_STATE = '.countersign';
/** Name of the configuration in the folder in which a command runs. */
export const FILE_NAME = 'countersign.yaml';

/** Whether a configuration is the example that comes with the package. */
export const isExample = (file: string): boolean => file === packagePath(FILE_NAME);

/**
 * Finds, reads and checks the configuration: `--config`, else `COUNTERSIGN_CONFIG`, else `./countersign.yaml`, else
 * the example that comes with the package. Throws `ERR_CONFIG_INVALID` with one line per problem.
 */
export function loadConfig({ environment, configFile, cwd, text }: ConfigSource): LoadedConfig {
  const { file, ownFile } =
    text !== undefined && configFile !== undefined
      ? { file: resolve(cwd, configFile) }
      : findFile({ environment, configFile, cwd });
  const stateDir = resolve(cwd, environment.stateDir ?? DEFAULT_STATE);
  const { content, lineOf, id, problems } = readYaml(file, text);
  const invalid = (found: readonly SettingProblem[]) => invalidFile(basename(file), found, lineOf);
  if (content !== null && content !== undefined && !isObject(content))
    throw invalid([{ path: [], message: NO_SETTINGS }]);
  if (problems.length > 0) throw invalid(problems);
  const written = fromHost(content);
  if (written.problems.length > 0) throw invalid(written.problems);
  const expanded = expandVariables(written.value, {
    ...hostVariables(dirname(file), environment),
    ...environment.variables,
    COUNTERSIGN_STATE: stateDir,
  });
  const unset = ofServers(expanded.problems);
  if (unset.others.length > 0) throw invalid(unset.others);
  const whole = withoutIncomplete(expanded.value, unset.faults);
  const raw = withTemporalAddress(whole, environment.temporalAddress);
  const notes = [...written.notes, ...unset.notes];
  try {
    const config = parseConfig(raw, { baseDir: dirname(file), stateDir, faults: unset.faults });
    const missing = config.mode === 'production' ? missingInProduction(config, environment) : [];
    if (missing.length > 0) throw invalid(missing);
    return { config, file, ...(ownFile !== undefined && { ownFile }), lineOf, notes, raw, id };
  } catch (error) {
    throw error instanceof ZodError ? invalid(withRuleProblems(problemsOf(error), raw)) : error;
  }
}

const NO_SETTINGS =
  'it holds no settings by name, such as mcpServers; `npx countersign init --print` prints a file to start from';

function findFile({ environment, configFile, cwd }: ConfigSource): Pick<LoadedConfig, 'file' | 'ownFile'> {
  const named = configFile ?? environment.configFile;
  if (named !== undefined) {
    const file = resolve(cwd, named);
    const origin = configFile === undefined ? 'COUNTERSIGN_CONFIG' : '--config';
    const kind = statSync(file, { throwIfNoEntry: false });
    if (kind?.isDirectory() === true)
      throw new CountersignError('ERR_CONFIG_INVALID', `${origin}: ${file} is a folder; name a file in it`);
    if (kind !== undefined) return { file };
    throw new CountersignError('ERR_CONFIG_INVALID', `${origin}: there is no file ${file}; correct the path`);
  }
  const here = join(cwd, FILE_NAME);
  return existsSync(here) ? { file: here } : { file: packagePath(FILE_NAME), ownFile: here };
}

function readYaml(file: string, text = readTextSync(file)): YamlContent & { readonly id: string } {
  const read = yamlContent(text);
  if (read.faults.length === 0) return { ...read, id: sha256(text) };
  const faults = read.faults.map(({ line, column, message }) => `${basename(file)}:${line}:${column}: ${message}`);
  throw new CountersignError('ERR_CONFIG_INVALID', faults.join('\n'));
}

/**
 * A server with a variable that is not set cannot be used. It stops no other server, and no command that does not need it. Every other
 * setting has to be complete.
 */
function ofServers(problems: readonly SettingProblem[]) {
  const isOfServer = ({ path }: SettingProblem) => path[0] === 'mcpServers' && path.length > 2;
  const own = problems.filter(isOfServer);
  return {
    others: problems.filter((one) => !isOfServer(one)),
    faults: Object.fromEntries(own.map(({ path, message }) => [String(path[1]), message])),
    notes: own.map(({ path, message }) => ({ path, message: `${message}; until then, the server cannot be used` })),
  };
}

function withoutIncomplete(raw: unknown, faults: Readonly<Record<string, string>>): unknown {
  if (!isObject(raw)) return raw;
  const servers = Object.entries(objectOf(raw['mcpServers'])).map(([name, server]) => [
    name,
    Object.hasOwn(faults, name) ? incomplete(objectOf(server)) : server,
  ]);
  return servers.length === 0 ? raw : { ...raw, mcpServers: Object.fromEntries(servers) as unknown };
}

/** The environment wins over the file, so that one file serves several installations. */
function withTemporalAddress(raw: unknown, address: string | undefined): unknown {
  if (address === undefined || (raw !== null && !isObject(raw))) return raw;
  return { ...raw, temporal: { ...objectOf(raw?.['temporal']), address } };
}

/** Embedded parts are for development, so production requires every address. Only the worker needs that of Temporal, and checks it. */
function missingInProduction(config: Config, environment: Environment): SettingProblem[] {
  const problems: SettingProblem[] = [];
  if (config.identity.issuer === undefined) {
    problems.push({ path: ['identity', 'issuer'], message: 'the OIDC issuer is not set; mode production needs it' });
  }
  if (environment.databaseUrl === undefined) {
    problems.push({ path: ['DATABASE_URL'], message: 'the variable is not set; mode production needs it' });
  }
  const { url, allowHttp } = config.pdp;
  if (url?.startsWith('http:') === true && !allowHttp) {
    problems.push({
      path: ['pdp', 'url'],
      message: 'it is not https; mode production needs https, or pdp.allowHttp where the network protects the traffic',
    });
  }
  return problems;
}

/** A mistake in one setting keeps others from being compared with rules, so this is done apart. */
function withRuleProblems(problems: readonly SettingProblem[], raw: unknown): SettingProblem[] {
  const known = new Set(problems.map(formatProblem));
  return [...problems, ...ruleProblemsOf(raw).filter((problem) => !known.has(formatProblem(problem)))];
}

/** Each problem in one line, in the order of the file, with its place as editors and terminals open it. */
export function invalidFile(label: string, problems: readonly SettingProblem[], lineOf: LineOf): CountersignError {
  const placed = problems.map((problem) => ({ problem, line: nearestLine(problem.path, lineOf) }));
  const inOrder = placed.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  const lines = inOrder.map(({ problem, line }) => {
    const at = line === undefined ? label : `${label}:${line}`;
    return `${at}: ${formatProblem(problem)}`;
  });
  return new CountersignError('ERR_CONFIG_INVALID', lines.join('\n'));
}

/** The line of a setting, or of the nearest one around it that is in the file. */
function nearestLine(path: readonly PropertyKey[], lineOf: LineOf): number | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const line = lineOf(path.slice(0, length));
    if (line !== undefined) return line;
  }
  return undefined;
}

const REFERENCE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Variables that every configuration has, without a word of the environment. */
export const OWN_VARIABLES = ['COUNTERSIGN_STATE', 'userHome', 'workspaceFolder', 'workspaceFolderBasename'] as const;

/** Variables that VS Code and Cursor define. The folder of the configuration stands for the folder that is open there. */
const hostVariables = (folder: string, { variables }: Pick<Environment, 'variables'>) => ({
  userHome: variables['HOME'] ?? variables['USERPROFILE'] ?? homedir(),
  workspaceFolder: folder,
  workspaceFolderBasename: basename(folder),
});

/**
 * Replaces `${NAME}`, `${env:NAME}` and `${NAME:-default}` in every text value by that variable, as MCP hosts do. Reports variables
 * that are not set and have no default. Names of settings stay unchanged.
 */
function expandVariables(
  value: unknown,
  variables: Readonly<Record<string, string>>,
): { value: unknown; problems: SettingProblem[] } {
  const problems: SettingProblem[] = [];
  const expand = (node: unknown, path: readonly PropertyKey[]): unknown => {
    if (typeof node === 'string') {
      return node.replace(REFERENCE, (text, name: string, fallback: string | undefined) => {
        const found = ownProperty(variables, name) ?? fallback;
        if (found === undefined)
          problems.push({ path, message: `the variable ${name} is not set (\${${name}:-default} gives it a default)` });
        return found ?? text;
      });
    }
    if (Array.isArray(node)) return node.map((item, index) => expand(item, [...path, index]));
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, expand(item, [...path, key])]));
  };
  return { value: expand(value, []), problems };
}
