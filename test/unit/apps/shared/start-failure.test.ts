import { describe, expect, it } from '@jest/globals';
import { startFailure } from '../../../../apps/shared/lifecycle.ts';

const failure = (facts: object) => startFailure(Object.assign(new Error('as the system says it'), facts));

describe('the explanation of a failed start', () => {
  it.each([
    [{ code: 'EADDRINUSE', port: 4100 }, 'port 4100 is in use'],
    [{ code: 'EACCES', port: 80 }, 'Set a port above 1023'],
    [{ code: 'ECONNREFUSED', port: 5432 }, 'no server answers at port 5432'],
    [{ code: 'ENOTFOUND', hostname: 'nowhere.invalid' }, 'there is no host called nowhere.invalid'],
  ])('says what to do: %j', (facts, told) => {
    expect(failure(facts)).toContain(told);
  });

  it('is the message of any other error', () => {
    expect(failure({ code: 'OTHER' })).toBe('as the system says it');
  });
});
