import { describe, expect, it } from '@jest/globals';
import { instructionsFor } from '../../../apps/gateway/wire/own-tools.ts';

const told = (isModern: boolean, requestTools: boolean, requestByItself: boolean) =>
  instructionsFor({ isModern, rendering: { requestTools }, holding: { requestByItself } });
const said = (text: string) => ({
  tasks: /\btasks\/get\b/.test(text),
  ask: /\brequest_access\b/.test(text),
  look: /\bget_request_status\b/.test(text),
  wait: /\bwaits\b/.test(text),
});
const NOTHING = { tasks: false, ask: false, look: false, wait: false };

describe('the instructions', () => {
  it.each([
    [false, false, NOTHING],
    [true, false, { ...NOTHING, ask: true, look: true }],
    [false, true, { ...NOTHING, wait: true }],
    [true, true, { ...NOTHING, look: true, wait: true }],
  ])(
    'describe the existing features, and tasks only in the present revision (plain tools %s, by itself %s)',
    (tools, byItself, of) => {
      expect(said(told(false, tools, byItself))).toEqual(of);
      expect(said(told(true, tools, byItself))).toEqual({ ...of, tasks: true });
    },
  );
});
