import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { additionsOf } from '../../../workflows/domain/submission-input/answers.ts';
import { requestedSchema, requestForm } from '../../../workflows/domain/submission-input/request-form.ts';
import { times } from '../../support/regime.ts';

const schemaOf = (properties: JsonObject, required: string[]): JsonObject => ({
  type: 'object',
  properties: { context: { type: 'object', properties, required } },
});

const annotations = fc.record({ title: fc.string(), description: fc.string() }, { requiredKeys: [] });
const bounds = (least: string, most: string, max: number) =>
  fc.tuple(fc.nat(max), fc.nat(max)).map(([a, b]) => ({ [least]: Math.min(a, b), [most]: Math.max(a, b) }));
const values = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 });
const anyField = fc
  .tuple(
    annotations,
    fc.oneof(
      bounds('minLength', 'maxLength', 9).map((of) => ({ type: 'string', ...of })),
      fc.constantFrom('email', 'uri', 'date', 'date-time').map((format) => ({ type: 'string', format })),
      values.map((of) => ({ type: 'string', enum: of })),
      values.map((of) => ({ type: 'array', items: { type: 'string', enum: of } })),
      fc
        .tuple(fc.constantFrom('integer', 'number'), bounds('minimum', 'maximum', 9))
        .map(([type, of]) => ({ type, ...of })),
      fc.constant({ type: 'boolean' }),
    ),
  )
  .map(([texts, of]) => ({ ...texts, ...of }));
const anySchema = fc
  .dictionary(fc.stringMatching(/^[a-z][a-z0-9_]{0,5}$/), fc.tuple(anyField, fc.boolean()), { maxKeys: 5 })
  .map((fields) =>
    schemaOf(
      Object.fromEntries(Object.entries(fields).map(([name, [field]]) => [name, field])),
      Object.entries(fields).flatMap(([name, [, isRequired]]) => (isRequired ? [name] : [])),
    ),
  );
const anyAnswer = fc.oneof(
  fc.string({ maxLength: 10 }),
  fc.string({ unit: fc.constantFrom(...'aZ9:/?#%@.-_~+"[]!'), maxLength: 12 }),
  fc.integer({ min: -1, max: 10 }),
  fc.boolean(),
  fc.array(fc.string({ maxLength: 4 }), { maxLength: 3 }),
  fc.constantFrom<Json>('a@b.test', '2026-11-21', '2026-11-21T00:00:00Z', 'urn:x', null),
);

describe('any request of a service for input', () => {
  it('becomes a flat form of primitive fields, or no form [MRTR-041]', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), anySchema), (schema) => {
        const form = requestForm(schema as Json);
        if ('problem' in form) return;
        const { type, properties, required = [], ...more } = requestedSchema(form);
        expect([type, more]).toEqual(['object', {}]);
        for (const field of Object.values(properties as JsonObject)) {
          expect(['string', 'number', 'integer', 'boolean', 'array']).toContain((field as JsonObject)['type']);
          expect(field).not.toHaveProperty('properties');
          expect(JSON.stringify(field)).not.toMatch(/:\/\/|\p{Cc}|\p{Cf}/u);
        }
        expect(Object.keys(properties as JsonObject)).toEqual(expect.arrayContaining(required as string[]));
      }),
      { numRuns: times(150, 5_000) },
    );
  });

  it('gets answers that its own schema accepts, or none [MRTR-044]', () => {
    const ajv = new Ajv2020({ strict: false, logger: false });
    addFormats.default(ajv);
    let answered = 0;
    fc.assert(
      fc.property(anySchema, fc.infiniteStream(anyAnswer), (schema, stream) => {
        const form = requestForm(schema);
        if ('problem' in form) return;
        const content = Object.fromEntries(form.fields.map(({ name }) => [name, stream.next().value as Json]));
        const additions = additionsOf(form, content);
        if (additions === undefined) return;
        answered += 1;
        expect([ajv.validate(schema, additions), ajv.errors]).toEqual([true, null]);
      }),
      { numRuns: times(400, 5_000) },
    );
    expect(answered).toBeGreaterThan(40);
  });
});
