import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import type * as AdaptiveCards from 'adaptivecards';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HttpServer } from '../../../apps/shared/http/listen.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { serve } from '../../support/serve.ts';
import { makeRoom } from '../../support/passing-time.ts';
import { waitFor } from '../../support/wait-for.ts';

// Node cannot load the library by its name, because its files import each other without their endings.
const { AdaptiveCard, SerializationContext } = createRequire(import.meta.url)(
  'adaptivecards/dist/adaptivecards.js',
) as typeof AdaptiveCards;

const templates = {
  owners: { stages: [{ name: 'owner', approvers: { people: ['alice'] } }] },
  machine: { stages: [{ name: 'risk', automatic: 'risk', withoutPeople: true, withinSeconds: 600 }] },
};

/** The trigger of a workflow: it takes a post with a card, and answers 202 without an id. */
class Workflow {
  readonly posts: string[] = [];
  readonly answers: number[] = [];
  #server: HttpServer | undefined;

  async start(): Promise<string> {
    this.#server = await serve((request, response) => {
      void text(request).then((body) => {
        const answer = this.answers.shift() ?? 202;
        if (answer === 202) this.posts.push(body);
        response.writeHead(answer).end();
      });
    });
    return `${this.#server.url}/workflows/1/triggers/manual/paths/invoke?sig=a-secret-of-the-address`;
  }

  stop = () => this.#server?.close();

  about = (id: string) => this.posts.filter((one) => one.includes(id));
}

/** The card of a post, as Microsoft's own library reads it. Fails for a card that it does not fully understand. */
function cardIn(post: string) {
  const { type, attachments } = JSON.parse(post);
  expect([type, attachments.length]).toEqual(['message', 1]);
  const [{ contentType, content }] = attachments;
  expect(contentType).toBe('application/vnd.microsoft.card.adaptive');
  const context = new SerializationContext();
  const card = new AdaptiveCard();
  card.parse(content, context);
  expect(Array.from({ length: context.eventCount }, (_, at) => context.getEventAt(at).message)).toEqual([]);
  expect(card.getItemCount()).toBe(content.body.length);
  return { card, content };
}

const linesOf = (post: string): string[] =>
  cardIn(post).content.body.map(({ inlines }: { inlines: { text: string }[] }) =>
    inlines.map((one) => one.text).join(''),
  );

describe('cards in Teams', () => {
  const service = new ApprovalsUnderTest();
  const workflow = new Workflow();
  const open = (template: keyof typeof templates, display?: object) =>
    service.open({ claims: { template, ...(display && { display }) } });
  beforeAll(async () => {
    const teams = { webhook: await workflow.start(), networks: ['127.0.0.0/8'] };
    const resolvers = {
      risk: { url: 'https://risk.example/', secret: `whsec_${Buffer.alloc(24).toString('base64')}` },
    };
    await service.start({ approvals: { templates, resolvers, channels: { mailbox: false, teams } } });
  });
  beforeEach(() => makeRoom(service.database.pool));
  afterAll(async () => {
    await service.stop();
    await workflow.stop();
  });

  it('ask the room once, and are followed by one that says who decided', async () => {
    const request = await open('owners');
    const [asked = ''] = await waitFor(() =>
      workflow.about(request.id).length === 1 ? workflow.about(request.id) : undefined,
    );
    expect(linesOf(asked).slice(0, 3)).toEqual([
      'A decision is needed.',
      'Writing a file (files__write_file)',
      'Asked by: agent',
    ]);
    const { actions } = cardIn(asked).content;
    expect(actions).toEqual([
      { type: 'Action.OpenUrl', title: 'Open the request', url: `${service.url}/requests/${request.id}` },
    ]);
    await service.vote('alice', request, 'deny');
    const over = await waitFor(() => workflow.about(request.id)[1]);
    expect(linesOf(over)).toEqual(['Denied by alice.', 'Writing a file (files__write_file)']);
  });

  it('hold values of agents in runs of text, which are not read as Markdown', async () => {
    const title = '[here](https://evil.example) **now** ![x](https://evil.example/x.png)\u200b';
    const { id } = await open('owners', { title });
    const post = await waitFor(() => workflow.about(id)[0]);
    expect(linesOf(post)[1]).toBe(
      String.raw`[here](https:\/\/evil.example) **now** ![x](https:\/\/evil.example/x.png)\u200b (files__write_file)`,
    );
    const { body } = cardIn(post).content;
    expect(new Set(body.map(({ type }: { type: string }) => type))).toEqual(new Set(['RichTextBlock']));
  });

  it('are repeated until the workflow takes them, and the log keeps its address secret', async () => {
    workflow.answers.push(429, 502);
    const { id } = await open('owners');
    await waitFor(() => workflow.about(id)[0]);
    expect(service.log).toContain('the workflow of Teams answered 502');
    expect(service.log).not.toContain('a-secret-of-the-address');
  });

  it('ask no room about a stage without people', async () => {
    const machine = await open('machine');
    const { id } = await open('owners');
    await waitFor(() => workflow.about(id)[0]);
    const waiting = "SELECT FROM approvals.message_outbox WHERE kind = 'notice'";
    await waitFor(async () => (await service.database.pool.query(waiting)).rowCount === 0);
    expect(workflow.about(machine.id)).toEqual([]);
  });
});
