import { join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import type { PolicyPlaces, PolicyProblem } from '../../../pdp/main.ts';
import { readConfig } from '../../context.ts';
import type { Io } from '../../io.ts';
import { visible } from '../../output.ts';

/** The policies that a command is about: those of a folder, else the configured ones. People are always the configured ones. */
export function policyPlaces(io: Io, command: Command, folder?: string): PolicyPlaces {
  const { config } = readConfig(io, command);
  return {
    folder: folder === undefined ? config.pdp.policies : resolve(io.cwd, folder),
    directory: config.directory,
    catalogs: config.approvals.catalogs,
  };
}

/** The file as a terminal or an editor finds it from where the command was given. */
export function placed<P extends Pick<PolicyProblem, 'file'>>(io: Io, { folder }: PolicyPlaces, at: P): P {
  return { ...at, file: relative(io.cwd, resolve(folder, at.file)) || join('.', at.file) };
}

export const shown = (io: Io, line: string) => io.out(visible(line));
