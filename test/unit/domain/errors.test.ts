import { describe, expect, it } from '@jest/globals';
import { CountersignError, ERROR_FACTS, type ErrorCode } from '../../../workflows/domain/errors.ts';

const CODES = Object.keys(ERROR_FACTS) as ErrorCode[];

describe('CountersignError', () => {
  it('may be tried again only when the error is unavailability', () => {
    expect(CODES.filter((code) => new CountersignError(code, 'a message').retryable)).toEqual(
      CODES.filter((code) => code.endsWith('_UNAVAILABLE')),
    );
  });

  it('keeps its code, its message and its cause', () => {
    const cause = new Error('socket closed');
    const error = new CountersignError('ERR_PDP_UNAVAILABLE', 'the PDP gave no answer', { cause });
    expect(error).toMatchObject({
      name: 'CountersignError',
      code: 'ERR_PDP_UNAVAILABLE',
      message: 'the PDP gave no answer',
      cause,
    });
    expect(error).toBeInstanceOf(Error);
  });
});
