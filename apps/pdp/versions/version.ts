import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { CatalogSettings } from '../../shared/config/catalog-settings.ts';
import { readDirectory, type Directory } from '../../shared/directory/directory.ts';
import type { DirectorySettings } from '../../shared/directory/source.ts';
import { createEngineMeanwhile, type Engine } from '../cedar/engine.ts';
import { readPolicyFiles, type PolicyFiles } from '../cedar/policy-files.ts';
import { InvalidPolicies, type Problem } from '../cedar/problems.ts';
import { checkRequestCatalogs } from '../request-catalogs.ts';
import { readRequestSchemas, type RequestSchemas } from '../request-schemas.ts';

/** Where everything is that decisions are made from. */
export interface PolicyPlaces {
  /** Absolute path of the policy folder. */
  readonly folder: string;
  readonly directory: DirectorySettings;
  /** From which values of access requests are chosen. Default: none. */
  readonly catalogs?: CatalogSettings;
}

/** Everything that decisions are made from, as it was written at one moment. */
export interface PolicyTexts {
  /** SHA-256 over all texts: two versions with the same id decide alike. `sha-256:` and 64 hexadecimal digits. */
  readonly id: string;
  readonly files: PolicyFiles;
  readonly directory: { readonly file: string; readonly text: string } | undefined;
}

/** Policies, schema, entities, request schemas, obligations and directory, loaded together and never mixed with those of another version. */
export interface PolicyVersion {
  readonly id: string;
  readonly engine: Engine;
  readonly requestSchemas: RequestSchemas;
  readonly warnings: readonly Problem[];
  /** How many people the directory knows. */
  readonly people: number;
}

/** Reads all texts. Throws `ERR_CONFIG_INVALID` when one is missing. */
export async function readPolicyTexts({ folder, directory }: PolicyPlaces): Promise<PolicyTexts> {
  const files = await readPolicyFiles(folder);
  const people = directory.file === undefined ? undefined : await readDirectoryText(directory.file);
  const { subjectAttribute } = directory;
  return { id: idOf(files, people && { text: people.text, subjectAttribute }), files, directory: people };
}

/** Checks everything, and loads it in steps between which the process can answer requests. Throws `InvalidPolicies`. */
export async function loadVersion(
  { id, files, directory: people }: PolicyTexts,
  { directory: { subjectAttribute }, catalogs = {} }: PolicyPlaces,
): Promise<PolicyVersion> {
  const directory = people && parseDirectory(people, subjectAttribute);
  const engine = await createEngineMeanwhile({ ...files, directory });
  try {
    const requestSchemas = readRequestSchemas(files.requestSchemas, engine.policies);
    checkRequestCatalogs(catalogs, requestSchemas);
    return { id, engine, requestSchemas, warnings: engine.warnings, people: directory?.people.length ?? 0 };
  } catch (error) {
    engine.release();
    throw error;
  }
}

/** Enough of an id for people to tell versions apart. */
export function shortVersion(id: string): string {
  return id.slice(id.indexOf(':') + 1).slice(0, 12);
}

/** What is wrong with a version that could not be loaded; undefined for an error of another kind. */
export function problemsOf(error: unknown, { folder }: PolicyPlaces): readonly Problem[] | undefined {
  if (error instanceof InvalidPolicies) return error.problems;
  return error instanceof CountersignError ? [{ file: folder, message: error.message }] : undefined;
}

function idOf(
  { policies, schema, entities, requestSchemas, obligations }: PolicyFiles,
  directory: object | undefined,
): string {
  const texts = JSON.stringify([policies, schema, entities, requestSchemas, obligations, directory ?? null]);
  return `sha-256:${createHash('sha256').update(texts).digest('hex')}`;
}

async function readDirectoryText(file: string): Promise<NonNullable<PolicyTexts['directory']>> {
  try {
    return { file, text: await readFile(file, 'utf8') };
  } catch (cause) {
    throw new InvalidPolicies([{ file, message: 'it cannot be read. Create it, or mend directory.file.' }], cause);
  }
}

function parseDirectory(
  { file, text }: NonNullable<PolicyTexts['directory']>,
  attribute: DirectorySettings['subjectAttribute'],
): Directory {
  try {
    return readDirectory(text, attribute);
  } catch (cause) {
    if (!(cause instanceof CountersignError)) throw cause;
    throw new InvalidPolicies([{ file, message: cause.message }], cause);
  }
}
