import { describe, expect, it } from '@jest/globals';
import { relayedCapabilities, TASKS, undeclared } from '../../../apps/gateway/wire/request-context.ts';

const TASKS_DECLARED = { extensions: { 'io.modelcontextprotocol/tasks': { anything: true } } };

describe('the capabilities that a request declares', () => {
  it.each([
    ['that is no object', { elicitation: 'yes' }],
    ['with a malformed mode', { elicitation: { form: 'yes' } }],
    ['of roots that is no object', { roots: 7 }],
  ])('leave out one %s, and keep tasks beside it', (_, malformed) => {
    const declared = relayedCapabilities({ ...malformed, ...TASKS_DECLARED });
    expect(declared).toEqual(TASKS);
    expect(undeclared(TASKS, declared)).toBeUndefined();
  });

  it.each([['text'], [null], [['a list']]])('lack tasks whose settings are %j', (settings) => {
    const declared = relayedCapabilities({ extensions: { 'io.modelcontextprotocol/tasks': settings } });
    expect(undeclared(TASKS, declared)).toEqual(TASKS);
  });

  it.each([[undefined], [null], ['all'], [[]]])('are none if they are %j', (declared) => {
    expect(relayedCapabilities(declared)).toEqual({});
  });
});
