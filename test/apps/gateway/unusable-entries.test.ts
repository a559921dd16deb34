import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectEarlier, connectPresent, EARLIER_REVISIONS } from '../../support/foreign-clients.ts';
import { startListingUpstream } from '../../support/listing-upstream.ts';
import { startRealGateway } from '../../support/real-gateway.ts';

/** Values that servers write in the wrong places. */
const WRONG = [null, [], {}, '', 'x', 5, true, false, [null], [{}], { x: null }, { x: true }, { x: [] }];
const object = { type: 'object', properties: { x: { type: 'string' } } };

/** For each kind, entries without a fault and the members that get each wrong value, one at a time. */
const KINDS = {
  tools: {
    key: 'name',
    good: {
      inputSchema: object,
      outputSchema: object,
      annotations: { title: 't' },
      execution: {},
      icons: [{ src: 'x:' }],
    },
    members: [
      ...[
        'title',
        'description',
        'inputSchema',
        'outputSchema',
        'annotations',
        'execution',
        'icons',
        '_meta',
        'vendor',
      ],
      ...['annotations.title', 'annotations.readOnlyHint', 'annotations.vendor', 'execution.taskSupport', 'icons.0'],
      ...[
        'icons.0.src',
        'icons.0.sizes',
        'icons.0.theme',
        'inputSchema.$schema',
        'inputSchema.type',
        'inputSchema.required',
      ],
      ...[
        'inputSchema.properties',
        'inputSchema.properties.x',
        'inputSchema.properties.x.properties',
        'inputSchema.$defs',
      ],
      ...['inputSchema.properties.x.$ref', 'inputSchema.properties.x.pattern', 'inputSchema.additionalProperties'],
      ...['inputSchema.title', 'inputSchema.$id', 'inputSchema.allOf', 'outputSchema.type', 'outputSchema.properties'],
      ...[
        'outputSchema.properties.x',
        'outputSchema.$ref',
        'outputSchema.required',
        'outputSchema.$schema',
        'outputSchema.$id',
      ],
    ],
  },
  prompts: {
    key: 'name',
    good: { arguments: [{ name: 'a', description: 'd' }] },
    members: [
      ...[
        'title',
        'description',
        'icons',
        '_meta',
        'arguments',
        'arguments.0',
        'arguments.0.name',
        'arguments.0.title',
      ],
      ...['arguments.0.description', 'arguments.0.required', 'vendor'],
    ],
  },
  resources: {
    key: 'uri',
    good: { name: 'n', annotations: { priority: 0.5 } },
    members: [
      ...['name', 'title', 'description', 'mimeType', 'size', 'icons', '_meta', 'annotations', 'annotations.audience'],
      ...['annotations.priority', 'annotations.lastModified', 'vendor'],
    ],
  },
  resourceTemplates: {
    key: 'uriTemplate',
    good: { name: 'n', annotations: { priority: 0.5 } },
    members: [
      'name',
      'title',
      'description',
      'mimeType',
      'icons',
      '_meta',
      'annotations',
      'annotations.audience',
      'vendor',
    ],
  },
} as const;
type Kind = keyof typeof KINDS;

/** The same object, with this value at this path. */
function altered(of: unknown, [member = '', ...rest]: readonly string[], value: unknown): unknown {
  const inner = (of as Record<string, unknown> | undefined)?.[member];
  const changed = rest.length === 0 ? value : altered(inner, rest, value);
  return Array.isArray(of) ? [changed] : { ...(of as object), [member]: changed };
}

const keyed = (kind: Kind, name: string) => ({ [KINDS[kind].key]: KINDS[kind].key === 'name' ? name : `x://${name}` });

/** Every member with every wrong value, entries without a name, and two that are right. */
const listOf = (kind: Kind) => [
  { ...KINDS[kind].good, ...keyed(kind, 'first') },
  ...WRONG.flatMap((value) => [value, { ...KINDS[kind].good, [KINDS[kind].key]: value }]),
  ...KINDS[kind].members.flatMap((member) =>
    WRONG.map((value, n) =>
      altered({ ...KINDS[kind].good, ...keyed(kind, `${member.replaceAll('.', '-')}_${n}`) }, member.split('.'), value),
    ),
  ),
  { ...KINDS[kind].good, ...keyed(kind, 'last') },
];

let upstream: Awaited<ReturnType<typeof startListingUpstream>>;
let gateway: Awaited<ReturnType<typeof startRealGateway>>;
beforeAll(async () => {
  upstream = await startListingUpstream(
    Object.fromEntries((Object.keys(KINDS) as Kind[]).map((kind) => [kind, listOf(kind)])),
  );
  gateway = await startRealGateway({}, { mcpServers: { u: { url: upstream.url } } });
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});

const reached = () => ({
  config: { urls: { mcp: gateway.mcpUrl } },
  token: () => gateway.authority.token({ aud: gateway.mcpUrl }),
});

const CLIENTS = [
  ...EARLIER_REVISIONS.map(
    (revision) => [revision, async () => (await connectEarlier(reached(), revision)).client] as const,
  ),
  ['the present revision', () => connectPresent(reached())] as const,
];

describe.each(CLIENTS)('the official client of %s', (_revision, connect) => {
  it('lists what can be used of a server that lists entries with every fault', async () => {
    const client = await connect();
    try {
      const { tools } = await client.listTools();
      const { prompts } = await client.listPrompts();
      const { resources } = await client.listResources();
      const { resourceTemplates } = await client.listResourceTemplates();
      const names = (all: readonly object[], key: string) => all.map((one) => (one as Record<string, string>)[key]);
      const listed: Record<Kind, (string | undefined)[]> = {
        tools: names(tools, 'name'),
        prompts: names(prompts, 'name'),
        resources: names(resources, 'uri'),
        resourceTemplates: names(resourceTemplates, 'uriTemplate'),
      };
      expect(listed.tools).toEqual(expect.arrayContaining(['u__first', 'u__last']));
      expect(listed.prompts).toEqual(expect.arrayContaining(['u__first', 'u__last']));
      expect(listed.resources).toEqual(expect.arrayContaining(['x://first', 'x://last']));
      expect(listed.resourceTemplates).toEqual(expect.arrayContaining(['x://first', 'x://last']));
      // `null` for an absent member, and `[]` for an empty map.
      for (const name of ['title_0', 'annotations_0', 'annotations_1', 'outputSchema_0', 'inputSchema-required_0']) {
        expect(listed.tools).toContain(`u__${name}`);
      }
      for (const name of ['inputSchema-properties_1', 'inputSchema-properties-x-properties_1', '_meta_1', 'vendor_4']) {
        expect(listed.tools).toContain(`u__${name}`);
      }
      for (const name of [
        'inputSchema_0',
        'inputSchema_1',
        'inputSchema-properties-x-$ref_4',
        'annotations-readOnlyHint_4',
      ]) {
        expect(listed.tools).not.toContain(`u__${name}`);
      }
      expect(listed.prompts).toEqual(expect.arrayContaining(['u__arguments_0', 'u__arguments-0-required_0']));
    } finally {
      await client.close();
    }
  });
});
