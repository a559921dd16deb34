import type { Endpoint } from '../../apps/pdp/tools/cases.ts';

/** The PDP under test, as its callers see it. */
export interface Target {
  /** The PDP's identifier. */
  readonly identifier: string;
  /** The response to GET of the well-known address; status 404 where it publishes no metadata. */
  readonly metadata: Answer;
  post(endpoint: Endpoint, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  get(url: string): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when it is not JSON. */
  readonly body: unknown;
}

/** The default path of each API, for a PDP without metadata, and its name in metadata. */
const ENDPOINTS: Readonly<Record<Endpoint, { parameter: string; path: string }>> = {
  evaluation: { parameter: 'access_evaluation_endpoint', path: '/access/v1/evaluation' },
  evaluations: { parameter: 'access_evaluations_endpoint', path: '/access/v1/evaluations' },
  subject: { parameter: 'search_subject_endpoint', path: '/access/v1/search/subject' },
  resource: { parameter: 'search_resource_endpoint', path: '/access/v1/search/resource' },
  action: { parameter: 'search_action_endpoint', path: '/access/v1/search/action' },
};
const PATIENCE_MS = 30_000;

/**
 * Reads the metadata of a PDP and asks the PDP at the addresses in there, or else at the default paths.
 *
 * @param address Where to reach the PDP in place of its identifier's origin: behind a proxy that ends TLS, the address
 * differs.
 */
export async function openTarget(of: { identifier: string; address?: string; token?: string }): Promise<Target> {
  const { origin, pathname } = new URL(of.identifier);
  const base = pathname.replace(/\/+$/, '');
  const reach = (url: string) => (of.address === undefined ? url : url.replace(origin, of.address));
  const get = async (url: string) => await read(await fetch(reach(url), { signal: AbortSignal.timeout(PATIENCE_MS) }));
  const metadata = await get(`${origin}/.well-known/authzen-configuration${base}`);
  const known = (metadata.status === 200 ? metadata.body : {}) as Record<string, unknown>;
  return {
    identifier: of.identifier,
    metadata,
    get,
    async post(endpoint, body, headers = {}) {
      const { parameter, path } = ENDPOINTS[endpoint];
      const url = known[parameter];
      return await read(
        await fetch(reach(typeof url === 'string' ? url : origin + base + path), {
          method: 'POST',
          headers: {
            'Content-Type': 'application/json',
            ...(of.token !== undefined && { Authorization: `Bearer ${of.token}` }),
            ...headers,
          },
          body: typeof body === 'string' ? body : JSON.stringify(body),
          signal: AbortSignal.timeout(PATIENCE_MS),
        }),
      );
    },
  };
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  const { status, headers } = response;
  try {
    return { status, headers, text, body: JSON.parse(text) as unknown };
  } catch {
    return { status, headers, text, body: undefined };
  }
}
