import type { Request, RequestHandler } from 'express';
import type { AccessRequestClient } from '../access-requests/clients.ts';
import { recallDenial, type DenialTrust } from '../access-requests/denial-token.ts';
import { Problem } from '../access-requests/problem.ts';
import { bearerHolderOf } from '../../shared/http/bearer.ts';
import type { Catalogs, Denied } from './catalogs.ts';

/** Below the address of the service. */
export const CATALOGS_PATH = '/catalogs/:name';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_PARAMETER = 1_024;
/** Characters. A seal around two texts of an item is shorter. */
const MAX_CURSOR = 4_096;

/**
 * A page of a catalog, for a client that holds a denial: `evaluation_id` names it, and what the PDP has on record of it says who asked for what.
 * Without it nothing is shown. Throws `Problem`s.
 * @see ARAP, Catalog Endpoint (ARAP-CAT-05, ARAP-CAT-08)
 */
export function catalogEndpoint({ catalogs, trust }: { catalogs: Catalogs; trust: DenialTrust }): RequestHandler {
  return async (request, response) => {
    const client = bearerHolderOf<AccessRequestClient>(response);
    const parameter = (name: string, most = MAX_PARAMETER) => parameterOf(request, name, most);
    const limit = limitOf(parameter('limit'));
    const asked = await deniedTo(client, parameter('evaluation_id'), trust);
    const page = { asked, client: client.actsFor, parameter, search: parameter('q'), limit };
    response.json(
      await catalogs.page(String(request.params['name']), { ...page, cursor: parameter('cursor', MAX_CURSOR) }),
    );
  };
}

/** Somebody else's denial, one of what the client may not have to do with, and none are answers without an item in them. */
async function deniedTo(
  { actsFor, covers }: AccessRequestClient,
  evaluationId: string | undefined,
  trust: DenialTrust,
): Promise<Denied> {
  if (evaluationId === undefined) {
    throw new Problem(400, 'evaluation_id: missing; use the endpoint as the catalogs document of the denial has it');
  }
  const { requester, ...denied } = await recallDenial(evaluationId, trust);
  if (requester !== actsFor) throw new Problem(403, 'the denial was given to another client');
  if (!covers(denied)) throw new Problem(403, 'this client may not ask for this subject, action or resource');
  return denied;
}

function parameterOf({ query }: Request, name: string, most: number): string | undefined {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  // An empty one is a field that has no value yet.
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw new Problem(400, `${name}: there more than once`);
  if (value.length > most) throw new Problem(400, `${name}: longer than ${most} characters`);
  return value;
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  if (!/^\d{1,9}$/.test(text)) throw new Problem(400, 'limit: a whole number of items is needed');
  return Math.min(Math.max(Number(text), 1), MAX_LIMIT);
}
