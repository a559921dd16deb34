import { describe, expect, it } from '@jest/globals';
import { instructionsFor } from '../../../apps/gateway/wire/own-tools.ts';

const told = (isModern: boolean, requestTools: boolean, waitSeconds = 0) =>
  instructionsFor({ isModern, rendering: { requestTools }, holding: { waitSeconds } });
const said = (text: string) => ({
  tasks: /\btasks\/get\b/.test(text),
  ask: /\brequest_access\b/.test(text),
  look: /\bget_request_status\b/.test(text),
  wait: /\b45 seconds\b/.test(text),
});
const NOTHING = { tasks: false, ask: false, look: false, wait: false };

describe('the instructions', () => {
  it.each([
    [false, 0, NOTHING],
    [true, 0, { ...NOTHING, ask: true, look: true }],
    [false, 45, { ...NOTHING, wait: true }],
    [true, 45, { ...NOTHING, look: true, wait: true }],
  ])(
    'describe the existing features, and tasks only in the present revision (plain tools %s, wait %s)',
    (tools, wait, of) => {
      expect(said(told(false, tools, wait))).toEqual(of);
      expect(said(told(true, tools, wait))).toEqual({ ...of, tasks: true });
    },
  );
});
