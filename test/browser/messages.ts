import webPush from 'web-push';
import type { ApprovalsUnderTest } from '../support/approvals.ts';
import type { Situation } from '../support/situations.ts';
import { waitFor } from '../support/wait-for.ts';

const TOLD = {
  stages: [{ name: 'told', approvers: { people: ['alice', 'bob'] } }],
  notify: { channels: { email: 0, slack: 0 } },
  chatDecisions: true,
};

/** For notices of browsers. The browser of the tests has no push service, so none is sent. */
const push = { subject: 'mailto:approvals@example.com', privateKey: webPush.generateVAPIDKeys().privateKey };

/** Settings by which the mailbox is in use, but has only messages about requests of its own template. */
export function withMailbox(templates: Readonly<Record<string, object>>) {
  const untold = Object.entries(templates).map(([name, one]) => [name, { ...one, notify: { channels: {} } }] as const);
  return { channels: { push }, templates: { ...Object.fromEntries(untold), told: TOLD } };
}

export const mailboxSituations = (service: ApprovalsUnderTest): Situation[] => [
  { name: 'the mailbox', as: 'alice', prepare: async () => (await tellOf(service), '/mailbox'), refusals: [403] },
  {
    name: 'the mailbox of one person',
    as: 'alice',
    prepare: async () => (await tellOf(service), '/mailbox?person=bob'),
  },
  { name: 'the mailbox without a message', as: 'alice', prepare: async () => '/mailbox?person=lone' },
];

/** Opens two requests for `alice` and `bob`, and has `alice` decide one. So the mailbox has questions, and messages that one is over. */
async function tellOf(service: ApprovalsUnderTest): Promise<void> {
  const open = () => service.open({ claims: { template: 'told' } });
  const [decided, waiting] = [await open(), await open()];
  const areThere = (count: number, { id }: { id: string }, text: string) =>
    waitFor(async () => {
      const { body } = await service.asPerson('alice', '/mailbox', { headers: { accept: 'application/json' } });
      const all = (body.messages as { link: string }[]).filter(({ link }) => link.endsWith(id));
      // People who stand in for them by now are told, too.
      return all.filter((one) => JSON.stringify(one).includes(text)).length >= count;
    });
  await areThere(4, decided, 'Decide before');
  await areThere(4, waiting, 'Decide before');
  await service.vote('alice', decided, 'approve');
  await areThere(4, decided, 'Approved by alice');
}
