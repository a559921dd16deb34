import { describe, expect, it } from '@jest/globals';
import { nextExtension } from '../../../../workflows/domain/access-request/extension.ts';
import { aStage } from '../../../support/access-requests.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString();
const by = { issuer: 'i', subject: 'alice' };
const made = (stage: number, number: number, from: number, to: number) => ({
  ...{ stage, number, by, from: at(from), to: at(to), at: at(from - 1) },
});
const of = (changes: object = {}) =>
  nextExtension({
    stages: [aStage({ withinSeconds: 600, maxExtensionSeconds: 300 }), aStage()],
    ...{ stage: 1, stageEndsAt: at(600), expiresAt: at(3_600), ...changes },
  });

describe('the next extension of a stage', () => {
  it.each<[string, object, number, number]>([
    ['may add all that the stage allows', {}, 1, 300],
    ['may add what earlier ones left', { extensions: [made(1, 1, 600, 720)], stageEndsAt: at(720) }, 2, 180],
    ['may add nothing after the last', { extensions: [made(1, 1, 600, 900)], stageEndsAt: at(900) }, 2, 0],
    ['does not count those of another stage', { extensions: [made(2, 1, 600, 900)] }, 1, 300],
    ['ends before its request', { expiresAt: at(700) }, 1, 99],
    ['is none where the stage outlasts its request', { expiresAt: at(500) }, 1, 0],
    ['is none where the stage has no end', { stageEndsAt: undefined }, 1, 0],
    ['is none where the template allows none', { stage: 2 }, 1, 0],
  ])('%s', (_what, changes, number, maxSeconds) => {
    expect(of(changes)).toEqual({ number, maxSeconds });
  });
});
