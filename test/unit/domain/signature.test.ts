import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import {
  driftOf,
  isAsPinned,
  canBePinned,
  signatureDocument,
  toolsInSignature,
  type PinnedTool,
} from '../../../workflows/domain/tools/signature.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const pin = (name: string, definition: JsonObject = {}, upstream = 'bank'): PinnedTool => ({
  name: `${upstream}__${name}`,
  upstream,
  upstreamTool: name,
  definition: { name, ...definition },
  digest: `sha-256:${sha256(canonicalJson({ name, ...definition }))}`,
});

describe('the document of a signature', () => {
  const published = fc.uniqueArray(
    fc.record({
      name: fc.string(),
      description: fc.string({ unit: 'grapheme' }),
      annotations: fc.object({ maxDepth: 1, values: [fc.string(), fc.integer(), fc.boolean()] }),
    }),
    { selector: ({ name }) => name, maxLength: 6 },
  ) as unknown as fc.Arbitrary<JsonObject[]>;
  const shuffled = published.chain((tools) =>
    fc.record({ tools: fc.constant(tools), again: fc.shuffledSubarray(tools, { minLength: tools.length }) }),
  );

  it('is the same for the same tools, in whatever order they and their members come [SIG-005, SIG-019]', () => {
    fc.assert(
      fc.property(shuffled, ({ tools, again }) => {
        const turned = again.map((tool) => Object.fromEntries(Object.entries(tool).reverse()));
        expect(signatureDocument(turned, sha256)).toEqual(signatureDocument(tools, sha256));
      }),
    );
  });

  it('is another one, with another digest, as soon as anything about a tool is', () => {
    fc.assert(
      fc.property(published, published, (one, other) => {
        const [a, b] = [signatureDocument(one, sha256), signatureDocument(other, sha256)];
        expect(a.digest === b.digest).toBe(a.text === b.text);
        const byName = (tools: JsonObject[]) => new Map(tools.map((tool) => [tool['name'], canonicalJson(tool)]));
        const isSame =
          one.length === other.length && [...byName(one)].every(([name, text]) => byName(other).get(name) === text);
        expect(a.text === b.text).toBe(isSame);
      }),
    );
  });

  it('has a list of each kind, and a digest of exactly its bytes [SIG-002]', () => {
    const { text, digest } = signatureDocument([{ name: 'b' }, { name: 'a' }], sha256);
    expect(text).toBe('{"prompts":[],"resourceTemplates":[],"resources":[],"tools":[{"name":"a"},{"name":"b"}]}');
    expect(digest).toBe(`sha-256:${sha256(text)}`);
  });
});

describe('the tools in a signature', () => {
  const servers = { bank: {}, shop: {} };

  it('are those that were pinned, with what the operator says of them', () => {
    const tools = toolsInSignature([pin('pay'), pin('sell', {}, 'shop')], {
      mcpServers: servers,
      tools: { bank__pay: { requirements: ['env:a'] } },
    });
    expect(tools.map(({ name, facts }) => [name, facts.requirements])).toEqual([
      ['bank__pay', ['env:a']],
      ['shop__sell', []],
    ]);
  });

  it('are none of an upstream that is not there any more, and none that is refused', () => {
    const unfit = pin('watch', { preprocessor: true });
    expect(toolsInSignature([pin('pay'), pin('x', {}, 'gone'), unfit], { mcpServers: servers, tools: {} })).toEqual([
      expect.objectContaining({ name: 'bank__pay' }),
    ]);
  });
});

describe('a tool', () => {
  it('is as it was pinned only with its description, its upstream and its name there', () => {
    const pinned = pin('pay', { description: 'Pays.' });
    expect(isAsPinned(pinned, pinned)).toBe(true);
    for (const change of [{ digest: 'sha-256:0' }, { upstream: 'shop' }, { upstreamTool: 'pays' }, { name: 'pay' }]) {
      expect(isAsPinned({ ...pinned, ...change }, pinned)).toBe(false);
    }
    expect(isAsPinned(pinned, undefined)).toBe(false);
  });

  it('with a name that the database does not take is not pinned', () => {
    expect(canBePinned(pin('pay'))).toBe(true);
    expect(canBePinned(pin('x'.repeat(250)))).toBe(true);
    for (const name of ['x'.repeat(257), 'p\0ay']) expect(canBePinned(pin(name))).toBe(false);
  });
});

describe('what departs from a signature', () => {
  const told = (pinned: PinnedTool[], listed: PinnedTool[], away: string[] = []) =>
    driftOf(pinned, listed, (upstream) => away.includes(upstream)).map(({ kind, name, members }) => [
      kind,
      name,
      members,
    ]);

  it('is what is new, what changed, and in which of its members, and what is gone', () => {
    const pinned = [pin('pay', { description: 'Pays.', inputSchema: {} }), pin('look'), pin('lend')];
    const listed = [
      pin('pay', { description: 'Pays twice.', inputSchema: {}, title: 'Pay' }),
      pin('look'),
      pin('audit'),
    ];
    expect(told(pinned, listed)).toEqual([
      ['new', 'bank__audit', []],
      ['gone', 'bank__lend', []],
      ['changed', 'bank__pay', ['description', 'title']],
    ]);
  });

  it('is a tool that another upstream has now', () => {
    const moved = { ...pin('pay', {}, 'shop'), name: 'bank__pay' };
    expect(told([pin('pay')], [moved])).toEqual([['changed', 'bank__pay', ['upstream']]]);
  });

  it('is nothing that an upstream does not list because it cannot be asked', () => {
    expect(told([pin('pay')], [], ['bank'])).toEqual([]);
  });
});
