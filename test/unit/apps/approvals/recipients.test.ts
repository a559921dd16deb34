import { describe, expect, it } from '@jest/globals';
import { createRecipients } from '../../../../apps/approvals/channels/recipients.ts';
import { readDirectory } from '../../../../apps/shared/directory/directory.ts';
import type { AccessRequest } from '../../../../workflows/domain/access-request/access-request.ts';
import { aStage } from '../../../support/access-requests.ts';
import { aUser, directoryText } from '../../../support/directory.ts';

describe('the people whom a message reaches', () => {
  const issuer = 'https://idp.test';
  const people = readDirectory(
    directoryText(aUser('alice'), aUser('bob'), aUser('carol'), { ...aUser('dan'), active: false }),
    'userName',
  );
  const recipients = createRecipients({
    config: { mode: 'production', identity: { people: [] }, urls: { issuer } } as never,
    people: () => people,
    delegations: { activeFrom: async (of) => of.map((delegator) => ({ delegator, delegate: 'carol' })) },
  });
  const request = (of: string) =>
    ({
      ...{ status: 'pending', stage: 1, votes: [], parties: ['alice', 'host'], delegates: [] },
      requester: { issuer: of, subject: 'alice' },
      stages: [
        aStage({ approvers: { people: ['bob'], requester: { issuer: of, subjects: ['alice'], freshSeconds: 300 } } }),
      ],
    }) as unknown as AccessRequest;

  it('are also the requester who may confirm, but not their stand-in, and not for a vote in a chat', async () => {
    expect(await recipients.of(request(issuer))).toEqual(['alice', 'bob', 'carol']);
    expect(['alice', 'bob'].map((one) => recipients.hasVote(request(issuer), one))).toEqual([false, true]);
  });

  it('are not a requester whom another issuer names', async () => {
    expect(await recipients.of(request('https://other.test'))).toEqual(['bob', 'carol']);
  });

  it('are the requester to whom a question waits, but no program, no person of another issuer, and none who has left', () => {
    const questions = [{ number: 1, answer: undefined }];
    const asked = (requester: object, more: object = {}) =>
      recipients.asked({ ...request(issuer), questions, requester, ...more } as unknown as AccessRequest);
    expect(asked({ issuer, subject: 'alice', clientId: 'host' })).toEqual(['alice']);
    for (const other of [
      asked({ issuer, subject: 'host', clientId: 'host' }),
      asked({ issuer: 'https://other.test', subject: 'alice' }),
      asked({ issuer, subject: 'dan' }),
      asked({ issuer, subject: 'alice' }, { questions: [{ number: 1, answer: { text: 'so' } }] }),
      asked({ issuer, subject: 'alice' }, { status: 'denied' }),
    ])
      expect(other).toEqual([]);
  });
});
