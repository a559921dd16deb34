import type { Pool } from 'pg';
import { query } from '../../apps/shared/database/query.ts';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import {
  isAsAccepted,
  keyOf,
  type Accepted,
  type AcceptedDescription,
  type DescribedName,
} from '../../workflows/domain/tools/accepted-descriptions.ts';

const COLUMNS = 'kind, name, upstream, upstream_name AS "upstreamName", digest';
const ALL = `SELECT ${COLUMNS}, definition FROM gateway.accepted_description ORDER BY kind, name`;
const NAMED = `SELECT ${COLUMNS} FROM gateway.accepted_description
  JOIN unnest($1::text[], $2::text[]) AS asked (kind, name) USING (kind, name)`;
const ADD = 'SELECT gateway.add_descriptions($1, $2, $3, $4, $5, $6)';
const ACCEPT = 'SELECT gateway.accept_descriptions($1, $2, $3, $4, $5, $6, $7, $8)';

/**
 * Descriptions that one statement adds, within its time limit of seconds. A later attempt continues after the last success, so a
 * long list of one upstream does not keep descriptions of others from being accepted.
 */
const AT_ONCE = 500;

type Row = Omit<AcceptedDescription, 'definition'> & { readonly definition: string };

/**
 * The accepted descriptions, which the operator may change.
 *
 * @param pool For `accept`, connections of the owner of the tables.
 */
export function createDescriptionStore(pool: Pool) {
  return {
    async all(): Promise<AcceptedDescription[]> {
      const rows = await query<Row>(pool, 'accepted-descriptions', ALL);
      return rows.map((row) => ({ ...row, definition: JSON.parse(row.definition) as JsonObject }));
    },
    async add(descriptions: readonly AcceptedDescription[]): Promise<void> {
      for (let from = 0; from < descriptions.length; from += AT_ONCE) {
        await query(pool, 'add-descriptions', ADD, columnsOf(descriptions.slice(from, from + AT_ONCE)));
      }
    },
    /** Accepts these, in place of earlier descriptions under their names, and forgets those that are gone. */
    async accept(descriptions: readonly AcceptedDescription[], gone: readonly DescribedName[]): Promise<void> {
      await query(pool, 'accept-descriptions', ACCEPT, [...columnsOf(descriptions), ...namesOf(gone)]);
    },
  };
}

/** The accepted descriptions for occasional checks: they are read each time. */
export function createAccepted(pool: Pool): Accepted {
  return {
    async among(things) {
      const rows = await query<Omit<AcceptedDescription, 'definition'>>(
        pool,
        'accepted-descriptions-named',
        NAMED,
        namesOf(things),
      );
      const accepted = new Map(rows.map((row) => [keyOf(row), row]));
      return things.filter((thing) => isAsAccepted(thing, accepted.get(keyOf(thing))));
    },
  };
}

const namesOf = (names: readonly DescribedName[]): string[][] => [
  names.map(({ kind }) => kind),
  names.map(({ name }) => name),
];

const columnsOf = (descriptions: readonly AcceptedDescription[]): string[][] => [
  ...namesOf(descriptions),
  descriptions.map(({ upstream }) => upstream),
  descriptions.map(({ upstreamName }) => upstreamName),
  descriptions.map(({ definition }) => canonicalJson(definition)),
  descriptions.map(({ digest }) => digest),
];
