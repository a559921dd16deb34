import { describe, expect, it } from '@jest/globals';
import { compileMapping } from '../../../../../apps/shared/coaz/mapping.ts';
import { resolveMapping } from '../../../../../apps/shared/coaz/resolve.ts';
import type { Json, JsonObject } from '../../../../../workflows/domain/canonical-json.ts';
import { mappingTime } from '../../../../support/mapping-time.ts';
import { WIRE_TRANSFER } from '../../../../support/mapped-tools.ts';

const TOKEN = {
  iss: 'https://idp.example.test',
  sub: 'alice@example.com',
  client_id: 'agent-7',
  aud: 'https://mcp.example.test',
  roles: ['treasury'],
  exp: 1_795_255_200,
};
const CALL = { to: 'acct-991', amount: 50_000 };
const IDENTITY = { type: 'identity', id: 'alice@example.com' };

const resolveAll = (mapping: Json, args: JsonObject = CALL, token: JsonObject = TOKEN) =>
  resolveMapping(
    compileMapping(mapping),
    { params: { name: 'bank__wire_transfer', arguments: args }, token, identity: TOKEN.sub },
    mappingTime(),
  );
const resolve = (mapping: Json, args?: JsonObject, token?: JsonObject) => resolveAll(mapping, args, token)[0];
/** The value of a leaf of the context. */
const leaf = (value: Json, args?: JsonObject) => {
  const action = { name: 'a' };
  const resource = { type: 't', id: 'i' };
  return resolve({ evaluation: { action, resource, context: { leaf: value } } }, args).context;
};
const fails = (attempt: () => unknown, text: string | RegExp) => {
  expect(attempt).toThrow(
    expect.objectContaining({ code: 'ERR_MAPPING_FAILED', message: expect.stringMatching(text) }),
  );
};

describe('a mapping', () => {
  it('makes the request from the message and the token [COAZ-FW-01] [COAZ-FW-14] [COAZ-IM-01] [COAZ-IM-02] [COAZ-EX-01]', () => {
    expect(resolveAll(WIRE_TRANSFER)).toEqual([
      {
        subject: IDENTITY,
        action: { name: 'wire_transfer' },
        resource: { type: 'account', id: 'acct-991' },
        context: { agent: 'agent-7', amount: 50_000 },
      },
    ]);
  });

  it('leaves out absent values [COAZ-FW-09] [COAZ-FW-10] [COAZ-EX-02]', () => {
    const { client_id: _client, ...token } = TOKEN;
    expect(resolve(WIRE_TRANSFER, { ...CALL, memo: 'Q4' }, token).context).toEqual({ amount: 50_000, memo: 'Q4' });
    expect(leaf({ list: ['a', '$params.arguments.?memo', '$params.arguments.to'] })).toEqual({
      leaf: { list: ['a', 'acct-991'] },
    });
  });

  it('fails where a plain selection finds no value, and names the place but no value [COAZ-FW-10] [COAZ-ER-02]', () => {
    fails(() => resolve(WIRE_TRANSFER, { to: 'acct-secret' }), /^evaluation\.context\.amount cannot be evaluated/);
    fails(() => leaf('$token.sub + 1'), /^((?!alice).)*$/);
  });

  it.each([null, 5, '', true, ['a'], { id: 'x' }])(
    'needs a text for its resource, and %j is not one [COAZ-FW-12] [COAZ-EX-04]',
    (to) => {
      fails(() => resolve(WIRE_TRANSFER, { to, amount: 1 }), /^resource\.id does not resolve to a non-empty text/);
    },
  );

  it.each(['subject', 'action', 'resource'] as const)(
    'needs a valid %s, if it has one [COAZ-FW-12] [COAZ-EX-04]',
    (part) => {
      const { [part]: _part, ...others } = WIRE_TRANSFER.evaluation;
      fails(() => resolve({ evaluation: { ...others, [part]: '$params.arguments.?nothing' } }), new RegExp(`^${part}`));
      fails(() => resolve({ evaluation: { ...others, [part]: null } }), new RegExp(`^${part}`));
    },
  );

  it('asks one question, also when its values are lists [COAZ-FW-13]', () => {
    const evaluation = { ...WIRE_TRANSFER.evaluation, resource: { type: 'account', id: '$params.arguments.all' } };
    fails(() => resolveAll({ evaluation }, { all: ['a', 'b'], amount: 1 }), /^resource\.id/);
    fails(
      () => compileMapping({ evaluations: { evaluations: '$params.arguments.all.map(x, {"action": x})' } }),
      /is not a list$/,
    );
  });

  it('takes the subject from the token when it names none [COAZ-SU-06] [COAZ-SU-07]', () => {
    const { subject: _subject, ...others } = WIRE_TRANSFER.evaluation;
    expect(resolve({ evaluation: others }).subject).toEqual(IDENTITY);
    expect(resolve({ evaluation: { ...others, subject: { id: '$token.sub' } } }).subject).toEqual(IDENTITY);
    const subject = { type: 'user', properties: { tier: 'gold' } };
    expect(resolve({ evaluation: { ...others, subject } }).subject).toEqual({ ...IDENTITY, ...subject });
  });
});

describe('the form of a mapping', () => {
  const { evaluation } = WIRE_TRANSFER;
  it.each([
    ['nothing', {}],
    ['two envelopes', { evaluation, evaluations: {} }],
    ['an unknown envelope', { search: evaluation }],
    ['no object', 'evaluation'],
    ['null', null],
    ['a list', [evaluation]],
    ['an envelope that is not an object', { evaluation: '$params' }],
  ])('is refused with %s [COAZ-FW-02] [COAZ-EN-03]', (_what, mapping) => {
    fails(() => compileMapping(mapping), /evaluation|object/);
  });

  it('has attributes of entities below their properties [COAZ-FW-03]', () => {
    fails(
      () => compileMapping({ evaluation: { ...evaluation, resource: { type: 'account', id: 'x', owner: 'me' } } }),
      /^evaluation\.resource\.owner has no meaning/,
    );
    const properties = { owner: '$token.sub' };
    expect(resolve({ evaluation: { ...evaluation, resource: { type: 'a', id: 'x', properties } } }).resource).toEqual({
      ...{ type: 'a', id: 'x', properties: { owner: 'alice@example.com' } },
    });
  });

  it.each([
    ['an unknown name', 'stranger.sub'],
    ['the environment', 'env.HOME'],
    ['the process', 'process'],
    ['names of the library', 'google.protobuf'],
    ['a name that is not bound there', 'params.arguments.l.exists(x, true) && x'],
    ['an unknown function', 'fetch(params.name)'],
    ['text that is not CEL', '1 + $params.name'],
    ['an empty expression', ''],
  ])(
    'is rejected before there is a message, with %s [COAZ-FW-08] [COAZ-FW-24] [COAZ-DC-06] [COAZ-EX-05]',
    (_what, text) => {
      fails(
        () => compileMapping({ evaluation: { ...evaluation, context: { leaf: `$${text}` } } }),
        /^evaluation\.context\.leaf/,
      );
    },
  );

  it('lists several questions, which share the members that they do not set themselves [COAZ-EN-01] [COAZ-FW-16] [COAZ-FW-17]', () => {
    const mapping = {
      evaluations: {
        subject: { id: '$token.sub' },
        context: { agent: '$token.?client_id', shared: { kept: true } },
        options: { evaluations_semantic: 'permit_on_first_permit' },
        evaluations: [
          { action: { name: 'debit' }, resource: { type: 'account', id: '$params.arguments.from' } },
          {
            action: { name: 'credit' },
            resource: { type: 'account', id: '$params.arguments.to' },
            context: { own: 1 },
          },
        ],
      },
    };
    const asked = resolveAll(mapping, { from: 'acct-001', to: 'acct-991' });
    const shared = { agent: 'agent-7', shared: { kept: true } };
    expect(asked).toEqual([
      { subject: IDENTITY, action: { name: 'debit' }, resource: { type: 'account', id: 'acct-001' }, context: shared },
      // As a whole: it contains no part of the shared context.
      {
        subject: IDENTITY,
        action: { name: 'credit' },
        resource: { type: 'account', id: 'acct-991' },
        context: { own: 1 },
      },
    ]);
  });

  it('has one subject for all questions [COAZ-SU-08]', () => {
    fails(
      () => compileMapping({ evaluations: { evaluations: [{ ...evaluation, subject: { id: 'x' } }] } }),
      /^evaluations\.evaluations\[0\] has a subject of its own/,
    );
  });
});

describe('a leaf', () => {
  it.each([
    ['$$50', '$50'],
    ['a$b', 'a$b'],
    ['$$$x', '$$x'],
    ['', ''],
    [7, 7],
    [true, true],
    [null, null],
    [
      ['$params.name', '$$x', { deep: '$token.sub' }],
      ['bank__wire_transfer', '$x', { deep: 'alice@example.com' }],
    ],
  ])('%j becomes %j [COAZ-FW-04] [COAZ-FW-05] [COAZ-FW-06] [COAZ-FW-07]', (value, expected) => {
    expect(leaf(value as Json)).toEqual({ leaf: expected });
  });

  it.each([
    ['$1 + 2', 3],
    ["$params.arguments.amount > 10000 ? 'high' : 'standard'", 'high'],
    ["$token.roles.exists(r, r == 'treasury') ? 'treasury_user' : 'standard_user'", 'treasury_user'],
    ["$'urn:account:' + params.arguments.to", 'urn:account:acct-991'],
    ['$params["arguments"]["customer-id"]', 'c-1'],
    ['$params.arguments["customer-id"]', 'c-1'],
    ['$token.?act.?sub.orValue("none")', 'none'],
    ['$has(params.arguments.memo)', false],
    ['$[1, 2].map(x, x * 2)', [2, 4]],
    ['$params.arguments.list.filter(x, x.startsWith("a"))', ['ab']],
    ['${"a": params.arguments.amount, "b": [null, 1.5]}', { a: 50_000, b: [null, 1.5] }],
    ['$params.arguments.to.contains("991")', true],
    ['$token.aud', 'https://mcp.example.test'],
    ['$9007199254740991', 9_007_199_254_740_991],
  ])('%s is computed [COAZ-EX-03] [COAZ-IM-03]', (value, expected) => {
    expect(leaf(value, { ...CALL, 'customer-id': 'c-1', list: ['ab', 'ba'] })).toEqual({ leaf: expected });
  });

  it.each([
    "$duration('1s')",
    '$timestamp("2026-01-01T00:00:00Z")',
    '$b"ab"',
    '$5u',
    '$[token.?nothing]',
    '${"x": token.?nothing}',
    '${1: "x"}',
    '$1.0 / 0.0',
    '$double("nan")',
    '$9007199254740993',
    '$-9007199254740993',
    '$type(1)',
    '$int',
    '$optional.of(optional.of(1))',
  ])('%s is refused because it is not JSON [COAZ-FW-11]', (value) => {
    fails(() => leaf(value), /./);
  });
});
