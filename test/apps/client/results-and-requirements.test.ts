import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import * as names from '../../../apps/client/answer.ts';
import {
  isBoundToFail,
  isPreprocessor,
  mayHaveRun,
  readDisposition,
  requirementsOf,
  type ListedTool,
} from '../../../apps/client/index.ts';
import * as written from '../../../apps/gateway/wire/identifiers.ts';

const PRESENT = 'io.modelcontextprotocol/tool-approval-disposition';
const FIRST = 'net.openid.authzen/disposition';

it('reads the names that the gateway writes', () => {
  const read = Object.entries(names).filter(([, value]) => typeof value === 'string');
  expect(read).not.toEqual([]);
  expect({ ...written }).toMatchObject(Object.fromEntries(read));
});

describe('requirements', () => {
  const tool = (...requirements: unknown[]) => ({ name: 'launch', execution: { requirements } });
  const known = (facts: Record<string, boolean>) => new Map(Object.entries(facts));

  it("are read from the server's place, and from the place that official clients keep", () => {
    expect(requirementsOf(tool('env:a', 'env:b'))).toEqual(['env:a', 'env:b']);
    expect(requirementsOf({ name: 'launch', _meta: { 'dev.countersign/requirements': ['env:a'] } })).toEqual(['env:a']);
    for (const odd of [{}, { execution: null }, { execution: { requirements: 'env:a' } }, tool(5)]) {
      expect(requirementsOf({ name: 'launch', ...odd })).toBeUndefined();
    }
  });

  it.each([
    ['all are known and one cannot be met', ['env:a', 'env:b'], { 'env:a': true, 'env:b': false }, true],
    ['no requirement can be met', ['env:a'], { 'env:a': false }, true],
    ['one requirement is unknown', ['env:a', 'env:b'], { 'env:a': false }, false],
    ['all may be met', ['env:a'], { 'env:a': true }, false],
    ['no facts are known', ['env:a'], {}, false],
    ['the tool has no requirements', [], { 'env:a': false }, false],
    ['known facts only resemble them', ['env:a'], { 'Env:A': false, 'env:a ': false, env: false }, false],
  ])('count when %s [REQ-008, REQ-009, REQ-010]', (_case, requirements, facts, isCertain) => {
    expect(isBoundToFail(tool(...requirements), known(facts as Record<string, boolean>))).toBe(isCertain);
  });

  it('have no meaning in their names [REQ-011]', () => {
    const texts = fc.uniqueArray(fc.oneof(fc.constantFrom('auth:admin', 'env:production', 'public', ''), fc.string()));
    const declared = fc.tuple(texts, fc.array(fc.option(fc.boolean(), { nil: undefined })));
    fc.assert(
      fc.property(declared, ([requirements, states]) => {
        const judged = (names: readonly string[]) =>
          isBoundToFail(
            tool(...names),
            new Map(names.flatMap((name, n) => (states[n] === undefined ? [] : [[name, states[n]] as const]))),
          );
        expect(judged(requirements)).toBe(judged(requirements.map((_, n) => `x${n}`)));
      }),
    );
  });

  it('and preprocessors are read alike from a tool with hints and from one without [HINT-003]', () => {
    const hints = { 'mcp.dev/effect': 'delete', 'mcp.dev/idempotent': true, 'mcp.dev/requiresConfirmation': true };
    for (const plain of [tool('env:a'), { ...tool('env:a'), preprocessor: true }, { name: 'launch' }]) {
      const hinting = { ...plain, _meta: hints };
      const readings = ({ _meta, ...one }: ListedTool) => {
        const listed = { ...one, _meta };
        return [requirementsOf(listed), isBoundToFail(listed, known({ 'env:a': false })), isPreprocessor(listed)];
      };
      expect(readings(hinting)).toEqual(readings(plain));
    }
  });

  it('count as absent when they cannot be read', () => {
    expect(isBoundToFail(tool('env:a', 5), known({ 'env:a': false }))).toBe(false);
    expect(isBoundToFail({ name: 'launch' }, known({ 'env:a': false }))).toBe(false);
  });
});

describe('a disposition', () => {
  const saying = (present?: unknown, first?: unknown) => ({
    _meta: { ...(present !== undefined && { [PRESENT]: present }), ...(first !== undefined && { [FIRST]: first }) },
  });

  it.each([
    ['approved-executed', true],
    ['execution-error', true],
    ['outcome-unknown', true],
    ['denied-not-executed', false],
    ['half-executed', true],
  ])('%s: the tool may have run is %s (APPR-131, APPR-133, APPR-135)', (value, may) => {
    for (const result of [saying(value), saying(undefined, value), saying(value, value)]) {
      expect([readDisposition(result), mayHaveRun(result)]).toEqual([value, may]);
    }
  });

  it.each([
    [{}],
    [saying()],
    [saying(5)],
    [saying('denied-not-executed', 'approved-executed')],
    [saying('denied-not-executed', 5)],
  ])('rules out no outcome when it is missing or contradictory: %j', (result) => {
    expect([readDisposition(result), mayHaveRun(result)]).toEqual([undefined, true]);
  });
});
