import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import type { CatalogSettings } from '../../../shared/config/approval-settings.ts';
import { sha256 } from '../../../shared/crypto.ts';
import type { DirectorySettings } from '../../../shared/directory/directory.ts';
import { exceptionsTo, type Rule, ruleFile } from '../../../shared/rules/rules.ts';
import { stateOfFile } from '../../../shared/watched-files.ts';
import { compileRule, type Prefixes } from '../../rules/compile.ts';
import { schemaForRules } from '../../rules/schema.ts';
import { InvalidPolicies } from './problems.ts';
import { readText } from '../../../shared/text-file.ts';

/** Rules of the configuration, and what they are compiled with. */
export interface RulePlaces {
  readonly all: readonly Rule[];
  readonly prefixes: Prefixes;
  /** Whether no policy folder is configured. Then the folder is that of the package, of which only the general policies are used. */
  readonly isAlone: boolean;
}

/** Where everything is that decisions are made from. */
export interface PolicyPlaces {
  /** Absolute path of the policy folder. */
  readonly folder: string;
  /** Rules of the configuration that are compiled to policies beside those of the folder. Default: none. */
  readonly rules?: RulePlaces | undefined;
  readonly directory: DirectorySettings;
  /** From which values of access requests are chosen. Default: none. */
  readonly catalogs?: CatalogSettings;
  /** Names of the approval templates that the configuration lists. Default: none. */
  readonly templates?: readonly string[];
}

/** A policy folder as text: what an author wrote, not parsed yet. */
export interface PolicyFiles {
  readonly policies: readonly { readonly file: string; readonly text: string }[];
  /** Cedar schema, in Cedar's own notation. */
  readonly schema: string;
  /** What the PDP itself knows about subjects and resources: Cedar entities as JSON text. */
  readonly entities: string;
  /** JSON Schemas of what access requests of a template need beside the call. */
  readonly requestSchemas: readonly { readonly file: string; readonly template: string; readonly text: string }[];
  /** What policies oblige an enforcement point to, by the id in `@obligation`. */
  readonly obligations: readonly { readonly file: string; readonly id: string; readonly text: string }[];
}

/** Everything that decisions are made from, as it was written at one moment. */
export interface PolicyTexts {
  /** SHA-256 over all texts: two versions with the same id decide alike. `sha-256:` and 64 hexadecimal digits. */
  readonly id: string;
  readonly files: PolicyFiles;
  readonly directory: { readonly file: string; readonly text: string } | undefined;
}

/** Reads all texts. Throws `ERR_CONFIG_INVALID` if one is missing, or if rules cannot be added to the schema. */
export async function readPolicyTexts({ folder, rules, directory }: PolicyPlaces): Promise<PolicyTexts> {
  const files = withRules(await readPolicyFiles(folder, rules?.isAlone === true), rules);
  const people = await readDirectoryText(directory.file);
  const { policies, schema, entities, requestSchemas, obligations } = files;
  const { subjectAttribute } = directory;
  const directoryPart = people ? { text: people.text, subjectAttribute } : null;
  const all = JSON.stringify([policies, schema, entities, requestSchemas, obligations, directoryPart]);
  return { id: `sha-256:${sha256(all)}`, files, directory: people };
}

/** What rules need that stand alone: the methods of the protocol, and people who have left. */
const FILES_FOR_RULES = ['protocol.cedar', 'subjects.cedar'];

function withRules(files: PolicyFiles, rules: RulePlaces | undefined): PolicyFiles {
  if (rules === undefined) return files;
  const compiled = rules.all.map((rule, index) => ({
    file: ruleFile(index),
    text: compileRule(rule, rules.prefixes, exceptionsTo(rule, rules.all)),
  }));
  return {
    ...files,
    policies: [...files.policies, ...compiled],
    schema: schemaForRules(files.schema, rules.all, rules.isAlone),
  };
}

/**
 * Reads `*.cedar`, `schema.cedarschema`, `entities.json`, and any `<template>.request.json` and `<id>.obligation.json`. The first
 * three have to exist: without its entities, a folder would silently lift every rule about what the PDP knows of a subject.
 * Throws `ERR_CONFIG_INVALID`.
 */
export async function readPolicyFiles(folder: string, isForRulesAlone = false): Promise<PolicyFiles> {
  const names = await readdir(folder).catch((cause: unknown) => {
    const message = `There is no policy folder ${folder}. Create it or set pdp.policies.`;
    throw new CountersignError('ERR_CONFIG_INVALID', message, { cause });
  });
  const read = (ending: string) =>
    Promise.all(
      names
        .filter((name) => name.endsWith(ending) && (!isForRulesAlone || FILES_FOR_RULES.includes(name)))
        .sort()
        .map(async (file) => ({
          file,
          name: file.slice(0, -ending.length),
          text: await readPolicyText(join(folder, file)),
        })),
    );
  const policies = await read('.cedar');
  if (policies.length === 0) {
    throw new CountersignError('ERR_CONFIG_INVALID', `The policy folder ${folder} has no *.cedar file. Add one.`);
  }
  return {
    policies: policies.map(({ file, text }) => ({ file, text })),
    schema: await readPolicyText(join(folder, 'schema.cedarschema')),
    entities: await readPolicyText(join(folder, 'entities.json')),
    requestSchemas: (await read('.request.json')).map(({ file, name, text }) => ({ file, template: name, text })),
    obligations: (await read('.obligation.json')).map(({ file, name, text }) => ({ file, id: name, text })),
  };
}

async function readPolicyText(path: string): Promise<string> {
  return await readText(path).catch((cause: unknown) => {
    throw new CountersignError('ERR_CONFIG_INVALID', `The policy file ${path} cannot be read. Create it.`, { cause });
  });
}

async function readDirectoryText(file: string | undefined): Promise<PolicyTexts['directory']> {
  if (file === undefined) return undefined;
  try {
    return { file, text: await readText(file) };
  } catch (cause) {
    throw new InvalidPolicies([{ file, message: 'it cannot be read. Create it, or correct directory.file.' }], cause);
  }
}

/**
 * Differs if a file that matters was written, replaced, added or removed in any way. Follows links: a deployment may swap the
 * folder, or what it links to. Never throws: a place that cannot be read is a state like any other.
 */
export async function fingerprint({ folder, directory }: PolicyPlaces): Promise<string> {
  const paths = await readdir(folder).then(
    (names) => names.sort().map((name) => join(folder, name)),
    () => [folder],
  );
  if (directory.file !== undefined) paths.push(directory.file);
  return (await Promise.all(paths.map(stateOfFile))).join('\n');
}
