import type { Sent } from './gateway-wire.ts';
import { SCHEMA_PATH } from './authority-stub.ts';
import { accepted, answering, questionIn, schemaOf, startAskingGateway } from './input-calls.ts';
import { REQUESTABLE } from './real-gateway.ts';

/** Members of a catalog's items, valid or not. */
interface Item {
  readonly value?: unknown;
  readonly label?: unknown;
  readonly [member: string]: unknown;
}
export const text = { type: 'string' };
/** The path of the answers of `schemaOf`. */
export const AT = '/context/requester_input';
export const CENTERS: readonly Item[] = [
  { value: 'cc-7', label: 'Finance', granted: true, risk_level: 'high' },
  { value: 'cc-8', label: 'Research' },
];
const DOCUMENT_PATH = '/canary-catalogs/document';
const CATALOG_PATH = '/canary-catalogs/centers';

/** A page of a catalog. */
export const items = (all: readonly Item[], more: object = {}) => ({
  status: 200,
  body: { items: all, ...more } as unknown,
});

/**
 * A gateway with its real parts, every call of which needs an approval, and a catalog with values for the request,
 * which a test can make lie.
 */
export async function startChoosing() {
  const asking = await startAskingGateway();
  const { real } = asking;
  const url = (path: string) => `${real.authority.url}${path}`;
  const seenAt = (beginning: string) => real.authority.seen.filter(({ path }) => path.startsWith(beginning));
  let documents = 0;
  const world = {
    asking,
    real,
    /** The catalog as it is now, for these parameters. */
    catalog: (_parameters: URLSearchParams) => items(CENTERS),
    document: (): unknown => ({}),
    reference: (more: object = {}) => ({ endpoint: url(`${CATALOG_PATH}?evaluation_id=e1`), ...more }),
    /** Requests need these fields, and their values come from catalogs. */
    needs(schema: object, catalogsUrl = url(DOCUMENT_PATH)): void {
      asking.needs(schema);
      const request_schema_url = `${url(SCHEMA_PATH)}?catalogs-${(documents += 1)}`;
      const { context } = REQUESTABLE;
      const access_request = { ...context.access_request, request_schema_url, request_catalogs_url: catalogsUrl };
      real.authority.decide = () => ({ ...REQUESTABLE, context: { ...context, access_request } });
    },
    reset(): void {
      real.reset();
      world.catalog = () => items(CENTERS);
      world.document = () => ({ fields: { [`${AT}/center`]: world.reference() } });
      real.authority.other = (at) => {
        if (at.pathname === DOCUMENT_PATH) return { status: 200, body: world.document() };
        return at.pathname === CATALOG_PATH ? world.catalog(at.searchParams) : undefined;
      };
      world.needs(schemaOf({ justification: text, center: { ...text, title: 'Cost center' } }));
    },
    /** The requests for catalog and document. */
    looks: () => seenAt(CATALOG_PATH),
    documentsRead: () => seenAt(DOCUMENT_PATH),
    /** A separate call: a new one, or one with the answer to the last question. */
    aCall() {
      const args = asking.newArguments();
      let last: Sent | undefined;
      return async (content?: object): Promise<Sent> => {
        const options = last && content ? answering(questionIn(last), accepted(content)) : {};
        last = await asking.call(args, options);
        return last;
      };
    },
    /** The requesters' values in the submitted requests. */
    submitted: () =>
      real.authority
        .submissions()
        .map(({ body }) => (JSON.parse(body) as { context: { requester_input: object } }).context.requester_input),
  };
  return world;
}

interface Shown {
  readonly properties: Readonly<
    Record<string, { oneOf?: readonly { const: string; title: string }[]; description?: string }>
  >;
  readonly required?: readonly string[];
}
export const shownBy = (answer: Sent) => questionIn(answer).request?.params['requestedSchema'] as Shown;
