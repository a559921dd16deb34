import { describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { additionsOf } from '../../../workflows/domain/submission-input/answers.ts';
import {
  requestedSchema,
  requestForm,
  type RequestForm,
} from '../../../workflows/domain/submission-input/request-form.ts';

const schemaOf = (properties: JsonObject, required: string[] = [], more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { context: { type: 'object', properties, required } },
  ...more,
});
const formOf = (schema: Json): RequestForm => {
  const form = requestForm(schema);
  if ('problem' in form) throw new Error(form.problem);
  return form;
};
const askedFor = (field: JsonObject) => {
  const form = requestForm(schemaOf({ field }));
  return 'problem' in form ? form.problem : form.fields[0]?.schema;
};
const TEXT = { type: 'string' };

describe('a schema of an access request', () => {
  it('becomes one flat form, whose answers stand where the schema has them', () => {
    const form = formOf({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      title: 'Treasury',
      description: 'Transfers above the limit.',
      required: ['context'],
      properties: {
        context: {
          type: 'object',
          required: ['requester_input'],
          properties: {
            requester_input: {
              type: 'object',
              required: ['justification'],
              properties: { justification: { ...TEXT, minLength: 10 }, ticket: { ...TEXT, title: 'Change ticket' } },
            },
          },
        },
        requested_access: {
          type: 'object',
          properties: { requested_until: { ...TEXT, format: 'date-time' } },
        },
      },
    });
    expect(form.purpose).toBe('Transfers above the limit.');
    expect(requestedSchema(form)).toEqual({
      type: 'object',
      properties: {
        justification: { type: 'string', minLength: 10, maxLength: 4_000 },
        ticket: { type: 'string', title: 'Change ticket', minLength: 0, maxLength: 4_000 },
        requested_until: { type: 'string', format: 'date-time', minLength: 0, maxLength: 4_000 },
      },
      required: ['justification'],
    });
    expect(additionsOf(form, { justification: 'Invoice 88, due', neverAsked: 1 })).toEqual({
      context: { requester_input: { justification: 'Invoice 88, due' } },
      requested_access: {},
    });
  });

  it.each<[string, JsonObject, Json]>([
    ['a number in bounds', { type: 'integer', minimum: 1, maximum: 5 }, { type: 'integer', minimum: 1, maximum: 5 }],
    ['yes or no', { type: 'boolean', default: true }, { type: 'boolean' }],
    [
      'one of several texts',
      { type: 'string', enum: ['low', 'high'] },
      {
        type: 'string',
        oneOf: [
          { const: 'low', title: 'low' },
          { const: 'high', title: 'high' },
        ],
      },
    ],
    [
      'several of several texts',
      {
        type: 'array',
        uniqueItems: true,
        items: { anyOf: [{ const: 'a', title: 'First' }, { const: 'b' }] },
        minItems: 1,
      },
      {
        type: 'array',
        items: {
          anyOf: [
            { const: 'a', title: 'First' },
            { const: 'b', title: 'b' },
          ],
        },
        minItems: 1,
        maxItems: 2,
      },
    ],
  ])('may ask for %s', (_what, field, expected) => {
    expect(askedFor(field)).toEqual(expected);
  });

  it('shows texts of its author on one line, bounded, and without bidirectional controls or links', () => {
    const title = 'Who\u202e pays\n\u200bhere\u0007?';
    expect(askedFor({ ...TEXT, title, description: 'x'.repeat(600) })).toMatchObject({
      title: 'Who pays here ?',
      description: 'x'.repeat(500),
    });
    expect(askedFor({ ...TEXT, description: 'see https://evil.test/login' })).not.toHaveProperty('description');
    expect(formOf(schemaOf({}, [], { title: 'www.evil.test' }))).not.toHaveProperty('purpose');
  });

  it.each<[JsonObject]>([
    [{ password: TEXT }],
    [{ userPassword: TEXT }],
    [{ api_key: TEXT }],
    [{ APIKey: TEXT }],
    [{ accessToken: TEXT }],
    [{ 'client-secret': TEXT }],
    [{ cardNumber: TEXT }],
    [{ pin: { type: 'integer' } }],
    [{ value: { ...TEXT, title: 'Your password' } }],
    [{ value: { ...TEXT, description: 'The token of the account' } }],
    [{ value: { ...TEXT, format: 'password' } }],
    [{ value: { ...TEXT, writeOnly: true } }],
    [{ level: { type: 'string', oneOf: [{ const: 'a', title: 'a secret' }] } }],
    [{ credentials: { type: 'object', properties: { name: TEXT } } }],
  ])('asks for no secret: %j [MRTR-040]', (properties) => {
    expect(requestForm(schemaOf(properties))).toEqual({ problem: expect.stringMatching(/asks for a secret/) });
    expect(requestForm(schemaOf({ harmless: TEXT, ...properties }))).toHaveProperty('problem');
  });

  it.each<[string, Json]>([
    ['nothing', null],
    ['a list', []],
    ['a text', 'object'],
    ['no object', { type: 'string' }],
    ['another place', { type: 'object', properties: { subject: { type: 'object', properties: { id: TEXT } } } }],
    ['a value beside the places', { type: 'object', properties: { context: TEXT } }],
    ['a value of the call', schemaOf({ arguments: { type: 'object', properties: { amount: { type: 'integer' } } } })],
    ['the digest', schemaOf({ call_digest: TEXT })],
    ['an approval', schemaOf({ approval: { type: 'object', properties: { id: TEXT } } })],
    [
      'a name of every object',
      JSON.parse(
        '{"type":"object","properties":{"context":{"type":"object","properties":{"__proto__":{"type":"string"}}}}}',
      ) as Json,
    ],
    ['a pattern', schemaOf({ ticket: { ...TEXT, pattern: '^CHG' } })],
    ['a reference', schemaOf({ ticket: { $ref: '#/$defs/x' } })],
    ['alternatives', schemaOf({ ticket: { anyOf: [TEXT] } })],
    ['a condition', schemaOf({ a: TEXT }, [], { if: {}, then: {} })],
    ['members without a name', schemaOf({ a: { type: 'object', additionalProperties: TEXT } })],
    ['a value without a description', schemaOf({ a: TEXT }, ['b'])],
    ['one name twice', schemaOf({ note: TEXT, more: { type: 'object', properties: { note: TEXT } } })],
    ['too much', schemaOf(Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, TEXT])))],
    ['a list of objects', schemaOf({ a: { type: 'array', items: { type: 'object' } } })],
    ['an empty choice', schemaOf({ a: { type: 'string', enum: [] } })],
    ['a choice with other labels than values', schemaOf({ a: { type: 'string', enum: ['pay\u202eyap'] } })],
    ['a value without a possible answer', schemaOf({ a: { type: 'integer', minimum: 2, maximum: 1 } })],
    ['a text longer than the limit', schemaOf({ a: { ...TEXT, minLength: 5_000 } })],
  ])('that asks for %s becomes no form', (_what, schema) => {
    expect(requestForm(schema)).toEqual({ problem: expect.any(String) });
  });
});

describe('answers', () => {
  const fields: JsonObject = {
    why: { ...TEXT, minLength: 2, maxLength: 5 },
    mail: { ...TEXT, format: 'email' },
    day: { ...TEXT, format: 'date' },
    at: { ...TEXT, format: 'date-time' },
    where: { ...TEXT, format: 'uri' },
    count: { type: 'integer', minimum: 1, maximum: 3 },
    share: { type: 'number' },
    sure: { type: 'boolean' },
    risk: { type: 'string', enum: ['low', 'high'] },
    teams: { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] }, minItems: 1, maxItems: 2 },
  };
  const form = formOf(schemaOf(fields));

  it.each<[string, Json[], Json[]]>([
    ['why', ['ab', 'abcde', '😀😀😀😀😀'], ['a', 'abcdef', 5, true, ['ab'], 'a\ud800b']],
    ['mail', ['a@b.test'], ['a', 'a b@c', '@', 'a@b@c']],
    ['day', ['2026-02-28'], ['2026-02-30', '2026-2-3', 'today']],
    [
      'at',
      ['2026-11-21T17:00:00Z', '2026-11-21T17:00:00.5+01:00'],
      ['2026-11-21', '2026-11-21T25:00:00Z', '2026-02-30T00:00:00Z'],
    ],
    ['where', ['https://a.test/x'], ['a.test', 'https://a test']],
    ['count', [1, 3], [0, 4, 1.5, '2', null, 1e300].slice(0, 4)],
    ['share', [1.5, -1], ['1.5', true]],
    ['sure', [true, false], ['true', 1]],
    ['risk', ['low'], ['LOW', 'middle', 0]],
    ['teams', [['a'], ['c', 'a']], [[], ['a', 'a'], ['a', 'b', 'c'], ['d'], 'a', [['a']]]],
  ])('to %s are checked against the requested values [MRTR-044]', (name, good, bad) => {
    for (const value of good) expect(additionsOf(form, { [name]: value })).toEqual({ context: { [name]: value } });
    for (const value of bad) expect([value, additionsOf(form, { [name]: value })]).toEqual([value, undefined]);
  });

  it('that are missing are reported where they are required, and not replaced', () => {
    const required = formOf(schemaOf({ why: { ...TEXT, default: 'because' } }, ['why']));
    for (const content of [{}, { why: null }]) expect(additionsOf(required, content as JsonObject)).toBeUndefined();
    expect(additionsOf(form, {})).toEqual({ context: {} });
  });

  it('lose invisible characters, and keep their lines', () => {
    const free = formOf(schemaOf({ why: TEXT }));
    expect(additionsOf(free, { why: 'one\r\ntwo\u202e\u0000\tthree' })).toEqual({
      context: { why: 'one\ntwo\tthree' },
    });
  });
});
