import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CountersignError } from '../../../workflows/domain/errors.ts';

/** A policy folder as text: what an author wrote, before anything is understood. */
export interface PolicyFiles {
  readonly policies: readonly { readonly file: string; readonly text: string }[];
  /** Cedar schema, in Cedar's own notation. */
  readonly schema: string;
  /** What the PDP itself knows about subjects and resources: Cedar entities as JSON text. */
  readonly entities: string;
  /** JSON Schemas of what access requests of a template have to be given beside the call. */
  readonly requestSchemas: readonly { readonly file: string; readonly template: string; readonly text: string }[];
  /** What policies oblige an enforcement point to, by the id with which they name it. */
  readonly obligations: readonly { readonly file: string; readonly id: string; readonly text: string }[];
}

/** `<template>.request.json` */
const REQUEST_SCHEMA = '.request.json';
/** `<id>.obligation.json` */
const OBLIGATION = '.obligation.json';

/**
 * Reads `*.cedar`, `schema.cedarschema` and `entities.json`, and what there is of `<template>.request.json` and `<id>.obligation.json`. The others have to be there: a folder without its entities
 * would silently lift every rule that asks what the PDP knows about a subject. Throws `ERR_CONFIG_INVALID`.
 */
export async function readPolicyFiles(folder: string): Promise<PolicyFiles> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new CountersignError(
      'ERR_CONFIG_INVALID',
      `There is no policy folder ${folder}. Create it or set pdp.policies.`,
      {
        cause,
      },
    );
  });
  const files = names.filter((name) => name.endsWith('.cedar')).sort();
  if (files.length === 0) {
    throw new CountersignError('ERR_CONFIG_INVALID', `The policy folder ${folder} has no *.cedar file. Add one.`);
  }
  const schemas = names.filter((name) => name.endsWith(REQUEST_SCHEMA)).sort();
  const obligations = names.filter((name) => name.endsWith(OBLIGATION)).sort();
  const all = ['schema.cedarschema', 'entities.json', ...files, ...schemas, ...obligations];
  const [schema, entities, ...texts] = await Promise.all(all.map((name) => readText(join(folder, name))));
  return {
    schema: schema ?? '',
    entities: entities ?? '',
    policies: files.map((file, index) => ({ file, text: texts[index] ?? '' })),
    requestSchemas: schemas.map((file, index) => ({
      file,
      template: file.slice(0, -REQUEST_SCHEMA.length),
      text: texts[files.length + index] ?? '',
    })),
    obligations: obligations.map((file, index) => ({
      file,
      id: file.slice(0, -OBLIGATION.length),
      text: texts[files.length + schemas.length + index] ?? '',
    })),
  };
}

async function readText(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new CountersignError('ERR_CONFIG_INVALID', `The policy file ${path} cannot be read. Create it.`, { cause });
  });
}
