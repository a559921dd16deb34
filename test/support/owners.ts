/** A template whose one stage is for these people, who are told by email at once. */
export const ofOwners = (people: string[], quorum = 1) => ({
  stages: [{ name: 'owners', approvers: { people }, quorum }],
  notify: { channels: { email: 0 } },
});

/** A person or program of each role around them. */
export const AROUND_OWNERS = {
  people: [
    ...['alice', 'bob', 'dora', 'rita'].map((name) => ({ name, roles: ['approver'] })),
    { name: 'olga', roles: ['approver', 'approver-overseer'] },
    { name: 'olivia', roles: ['auditor'] },
    { name: 'sage', roles: ['approver-agent'] },
  ],
};
