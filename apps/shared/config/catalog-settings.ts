import { resolve } from 'node:path';
import * as z from 'zod';

/** Parameters of a catalog endpoint that are no scope. @see ARAP, Catalog Endpoint */
const RESERVED = new Set(['q', 'cursor', 'limit', 'evaluation_id']);

/** JSON Pointer to a value of the form: its names are those that forms show. */
const pointer = z
  .string()
  .regex(
    /^\/(context|requested_access)(\/[A-Za-z][A-Za-z0-9_-]{0,63})+$/,
    'a JSON Pointer into what is submitted, such as /context/cost_center',
  );

const field = z.strictObject({
  /** The template whose requests have the field. */
  template: z.string().min(1),
  /** The field whose values are those of the catalog. */
  field: pointer,
  /** Fields that narrow the catalog down, by the parameter that carries their values. */
  scope: z
    .record(
      z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,31}$/, 'lower-case letters, digits and underscore')
        .refine((name) => !RESERVED.has(name), `none of ${[...RESERVED].join(', ')}, which mean something else`),
      pointer,
    )
    .default({}),
});

const catalog = z.strictObject({
  /** JSON list of what can be chosen, read again when it changes. Relative to the configuration file. */
  file: z.string().min(1),
  fields: z.array(field).min(1),
});

/** What requesters choose values of an access request from, by the name that is in the address. None by default. */
export const catalogSettings = z
  .record(
    z.string().regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'lower-case letters, digits, dot, dash and underscore'),
    catalog,
  )
  .superRefine((catalogs, context) => {
    const known = new Set<string>();
    for (const [name, { fields }] of Object.entries(catalogs)) {
      for (const [index, { template, field: at }] of fields.entries()) {
        const key = JSON.stringify([template, at]);
        const path = [name, 'fields', index, 'field'];
        if (known.has(key)) context.addIssue({ code: 'custom', path, message: `${at} has a catalog already` });
        known.add(key);
      }
    }
  })
  .default({});

export type CatalogSettings = z.infer<typeof catalogSettings>;

/** The same, with files that are found wherever the process was started. */
export const withAbsoluteCatalogs = (catalogs: CatalogSettings, baseDir: string): CatalogSettings =>
  Object.fromEntries(
    Object.entries(catalogs).map(([name, one]) => [name, { ...one, file: resolve(baseDir, one.file) }]),
  );
