import assert from 'node:assert/strict';
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { action, record, succeeded, user, type Check } from './checks.ts';
import type { Target } from './target.ts';

const metadataOf = (pdp: Target) => succeeded(pdp.metadata);
const isHttps = (value: unknown) =>
  assert.ok(new URL(String(value)).protocol === 'https:', `${String(value)} is not an https address`);

/** Discovery. */
export const DISCOVERY: readonly Check[] = [
  { name: 'c-6-2', run: async (pdp) => void (await Promise.resolve(metadataOf(pdp))) },
  {
    name: 'c-6-3',
    run: async (pdp) => {
      const { policy_decision_point: point } = await Promise.resolve(metadataOf(pdp));
      assert.equal(point, pdp.identifier);
      isHttps(point);
      assert.doesNotMatch(String(point), /[?#]/);
    },
  },
  {
    name: 'c-6-5 endpoints',
    run: async (pdp) => {
      const metadata = await Promise.resolve(metadataOf(pdp));
      isHttps(metadata['access_evaluation_endpoint']);
      const others = ['access_evaluations', 'search_subject', 'search_resource', 'search_action'];
      for (const name of others) if (`${name}_endpoint` in metadata) isHttps(metadata[`${name}_endpoint`]);
    },
  },
  {
    name: 'c-6-5 capabilities',
    run: async (pdp) => {
      const { capabilities = [] } = await Promise.resolve(metadataOf(pdp));
      assert.ok(Array.isArray(capabilities) && capabilities.every((each) => typeof each === 'string'));
    },
  },
  {
    name: 'c-6-5 signed_metadata',
    run: async (pdp) => {
      const { signed_metadata: signed, jwks_uri: keys } = metadataOf(pdp);
      if (signed === undefined) return;
      assert.ok(typeof signed === 'string' && typeof keys === 'string', 'signed_metadata or jwks_uri is not text');
      const set = createLocalJWKSet((await pdp.get(keys)).body as JSONWebKeySet);
      assert.ok((await jwtVerify(signed, set)).payload.iss, 'it has no iss');
    },
  },
  {
    name: 'c-6-6',
    run: async (pdp) => {
      // The addresses in the metadata are those where the decision point answers.
      const request = { subject: user('alice'), action: action('read'), resource: record('record-1') };
      succeeded(await pdp.post('evaluation', request));
    },
  },
];
