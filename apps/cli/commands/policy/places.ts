import { join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import type { PolicyPlaces, PolicyProblem } from '../../../pdp/main.ts';
import { loadConfig, type LoadedConfig } from '../../../shared/config/load.ts';
import { ruleIndex } from '../../../shared/rules/rules.ts';
import { type Io, readConfig } from '../../context.ts';
import { configuredPlaces } from '../lint/policies.ts';

/** Only the commands that need it load the policy engine. */
export const loadPdp = () => import('../../../pdp/main.ts');

/**
 * The policies and rules of the configuration; or those of another configuration file; or the policies of a folder with the rules that
 * stand beside policies. People and catalogs always come from the configuration.
 */
export function policyPlaces(io: Io, command: Command, from?: string): PolicyPlaces & Located {
  const loaded = readConfig(io, command);
  const { config, file, lineOf } = loaded;
  const places = { ...configuredPlaces(config), file, lineOf };
  if (from === undefined) return places;
  if (/\.ya?ml$/.test(from)) {
    const { environment, cwd } = io;
    const other = loadConfig({ environment, configFile: from, cwd });
    return { ...places, ...configuredPlaces(other.config), file: other.file, lineOf: other.lineOf };
  }
  const rules = places.rules?.isAlone === true ? undefined : places.rules;
  return { ...places, rules, folder: resolve(io.cwd, from) };
}

/** Where problems and policies are: the policy folder, and the configuration, which has the rules. */
export type Located = Pick<PolicyPlaces, 'folder'> & Pick<LoadedConfig, 'file' | 'lineOf'>;

/** Makes the file relative to the folder of the caller, so that terminals and editors find it. A rule is a line of the configuration. */
export function located<P extends Pick<PolicyProblem, 'file' | 'line'>>(io: Io, places: Located, at: P): P {
  const fromHere = (file: string) => relative(io.cwd, file) || join('.', at.file);
  const index = ruleIndex(at.file);
  if (index === undefined) return { ...at, file: fromHere(resolve(places.folder, at.file)) };
  return { ...at, file: fromHere(places.file), line: places.lineOf(['rules', index]), column: undefined };
}
