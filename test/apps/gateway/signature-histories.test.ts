import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { acceptOffered } from '../../support/accept-offered.ts';
import { startChangingUpstream, type Description } from '../../support/changing-upstream.ts';
import { startRealGateway } from '../../support/real-gateway.ts';
import { waitFor } from '../../support/wait-for.ts';

const FLAG = 'feature:payments';
const folder = mkdtempSync(join(tmpdir(), 'signature-'));
const flagsFile = join(folder, 'flags.yaml');
const tokens: string[] = [];

type Upstream = Awaited<ReturnType<typeof startChangingUpstream>>;
const upstreams = {} as Record<'bank' | 'shop', Upstream>;
let servers!: Record<string, { url: string }>;
let real!: Awaited<ReturnType<typeof startRealGateway>>;
beforeAll(async () => {
  for (const name of ['bank', 'shop'] as const) {
    upstreams[name] = await startChangingUpstream({
      ...{ description: 'Pays.', properties: {}, annotations: {} },
      items: { prompt: 'Asks.', resource: 'A paper.', template: 'A drawer.', scheme: name },
    });
  }
  servers = { bank: { url: upstreams.bank.url }, shop: { url: upstreams.shop.url } };
  const tools = { bank__pay: { requirements: [FLAG] } };
  const config = { mcpServers: servers, tools, requirements: { [FLAG]: { flagsFile } } };
  real = await startRealGateway({}, { ...config, signature: { pinning: 'accepted' } });
  await acceptOffered(real.database.pool, servers);
  for (const claims of [{}, { sub: 'mallory', scope: 'mcp bank:write' }, { client_id: 'other', scope: 'mcp admin' }]) {
    tokens.push(await real.authority.token({ aud: real.mcpUrl, ...claims }));
  }
});
afterAll(async () => {
  await real.stop();
  for (const upstream of Object.values(upstreams)) await upstream.close();
  rmSync(folder, { recursive: true });
});

const described: fc.Arbitrary<Description> = fc.record({
  description: fc.constantFrom('Pays.', 'Pays twice.'),
  properties: fc.constantFrom({}, { amount: { type: 'integer' } }),
  annotations: fc.constantFrom({}, { readOnlyHint: true }, { destructiveHint: true }),
  items: fc.record({
    prompt: fc.constantFrom('Asks.', 'Asks twice.'),
    resource: fc.constantFrom('A paper.', 'A letter.'),
    template: fc.constantFrom('A drawer.', 'A box.'),
    size: fc.nat(),
  }),
});
type Step =
  | { readonly kind: 'describe'; readonly upstream: 'bank' | 'shop'; readonly described: Description }
  | { readonly kind: 'accept' }
  | { readonly kind: 'flag'; readonly on: boolean };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('describe' as const),
      upstream: fc.constantFrom('bank' as const, 'shop' as const),
      described,
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'accept' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('flag' as const), on: fc.boolean() }) },
);

async function carryOut(step: Step): Promise<void> {
  if (step.kind === 'flag') return writeFileSync(flagsFile, `${FLAG}: ${step.on}`);
  if (step.kind === 'accept') return acceptOffered(real.database.pool, servers);
  const upstream = upstreams[step.upstream];
  let lists = 0;
  upstream.onList = async () => void (lists += 1);
  const { items } = step.described;
  upstream.described = { ...step.described, ...(items && { items: { ...items, scheme: step.upstream } }) };
  upstream.announce();
  await waitFor(() => lists > 0);
}

/** What a client reads in these lists, except the sizes of contents, which no signature includes. */
const thingsIn = async (method: string, lists: readonly string[], token: string) => {
  const { result } = (await real.send(method, {}, token)).body;
  return lists.flatMap((list) =>
    (result?.[list] as JsonObject[]).map(({ size: _size, ...thing }) => canonicalJson({ list, thing })),
  );
};
const LISTS = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
};

it('every list stays within the signature, for any caller, flags and history of the upstreams [SIG-004]', async () => {
  let seen = 0;
  let others = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 5 }), async (history) => {
      for (const one of history) {
        await carryOut(one);
        for (const token of tokens) {
          // The signature may change during the request: then one of the two matches the list.
          const before = await thingsIn('signature', Object.keys(LISTS), token);
          const asked = Object.entries(LISTS).map(([list, method]) => thingsIn(method, [list], token));
          const listed = (await Promise.all(asked)).flat();
          const after = await thingsIn('signature', Object.keys(LISTS), token);
          expect([...before, ...after]).toEqual(expect.arrayContaining(listed));
          seen += listed.length;
          others += listed.filter((thing) => !thing.startsWith('{"list":"tools"')).length;
        }
      }
    }),
    { numRuns: 8 },
  );
  expect([seen, others].map((count) => count > 0)).toEqual([true, true]);
});
