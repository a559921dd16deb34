import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { freePort } from '../../../apps/shared/embedded/process-tools.ts';
import type { HttpServer } from '../../../apps/shared/http/listen.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { postSigned } from '../../support/decisions.ts';
import { serve } from '../../support/serve.ts';
import { waitFor } from '../../support/wait-for.ts';

const SECRET = `whsec_${Buffer.from('a secret of those who are told').toString('base64')}`;
const templates = {
  reminding: { stages: [{ name: 'security', approvers: { people: ['alice'] }, remindAfterSeconds: 1 }] },
  escalating: {
    stages: [
      { name: 'owner', approvers: { people: ['bob'] }, withinSeconds: 1, then: 'escalate' },
      { name: 'director', approvers: { people: ['alice'] }, withinSeconds: 600, onlyOnEscalation: true },
    ],
  },
  patient: {
    stages: [
      {
        name: 'owner',
        approvers: { people: ['alice', 'bob'] },
        withinSeconds: 600,
        remindAfterSeconds: 600,
        then: 'escalate',
      },
      { name: 'director', approvers: { people: ['alice'] }, onlyOnEscalation: true },
    ],
  },
  brief: { stages: [{ name: 'owner', approvers: { people: ['bob'] }, withinSeconds: 1 }] },
};

/** Receives the messages about requests. */
class Receiver {
  readonly messages: { headers: Record<string, string>; body: string }[] = [];
  readonly answers: number[] = [];
  #server: HttpServer | undefined;

  async start(): Promise<string> {
    const port = await freePort();
    this.#server = await serve(
      (request, response) =>
        void text(request).then((body) => {
          this.messages.push({ headers: request.headers as Record<string, string>, body });
          response.writeHead(this.answers.shift() ?? 204).end();
        }),
      port,
    );
    return `http://127.0.0.1:${port}/told`;
  }

  stop = () => this.#server?.close();

  /** The messages about a request, each once, however often it arrived. */
  of(id: string) {
    const own = this.messages.filter(({ body }) => body.includes(id));
    return [...new Map(own.map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body)])).values()];
  }
}

describe('reminders, escalations and deadlines', () => {
  const service = new ApprovalsUnderTest();
  const receiver = new Receiver();
  beforeAll(async () => {
    const url = await receiver.start();
    await service.start({
      approvals: { templates, notifications: { url, secret: SECRET, networks: ['127.0.0.0/8'] } },
    });
  });
  afterAll(async () => {
    await service.stop();
    await receiver.stop();
  });

  const open = (template: keyof typeof templates) => service.open({ claims: { template } });
  const events = (id: string) => receiver.of(id).map(({ type }) => type as string);
  const listed = async (id: string) => {
    const { body } = await service.asPerson('alice', '/requests');
    return (body.requests as { id: string; remindedAt?: string }[]).find((one) => one.id === id);
  };

  it('sends reminders to the configured receivers and marks the request in the inbox', async () => {
    const patient = await open('patient');
    const { id } = await open('reminding');
    await waitFor(async () => (await listed(id))?.remindedAt !== undefined);
    expect((await listed(patient.id))?.id).toBe(patient.id);
    expect((await listed(patient.id))?.remindedAt).toBeUndefined();
    await waitFor(() => events(id).length === 2);
    expect(events(id).toSorted()).toEqual(['access_request.opened', 'access_request.reminder']);
    const page = await (await (await service.signIn('alice')).go('/requests')).text();
    expect(page).toMatch(/reminded <time/);
  });

  it('sends signed messages about the request, without the content of the call', async () => {
    const request = await open('reminding');
    await service.vote('alice', request, 'deny', { reason: 'a reason of alice' });
    await waitFor(() => events(request.id).includes('access_request.ended'));
    const ended = receiver.messages.find(({ body }) => body.includes(request.id) && body.includes('.ended'));
    new Webhook(SECRET).verify(ended?.body ?? '', ended?.headers ?? {});
    expect(JSON.parse(ended?.body ?? '')).toEqual({
      type: 'access_request.ended',
      timestamp: expect.any(String),
      data: {
        ...{ id: request.id, tool: 'files__write_file', title: 'Writing a file', template: 'reminding' },
        ...{ stage: 'security', step: 1, steps: 1, quorum: 1, generation: 1, callDigest: request.callDigest },
        requester: { issuer: service.config.urls.issuer, subject: 'agent', clientId: 'agent' },
        ...{ createdAt: expect.any(String), expiresAt: expect.any(String), status: 'denied' },
        votes: [{ approver: 'alice', verdict: 'deny', stage: 1, via: 'api', at: expect.any(String) }],
        url: `${service.url}/requests/${request.id}`,
      },
    });
    const said = receiver.messages.map(({ body }) => body).join('');
    expect(said).not.toMatch(/arguments|a reason of alice|hello/);
  });

  it('names those who may decide, so that a bot can tell them and send their decision back', async () => {
    const request = await open('patient');
    await waitFor(() => events(request.id).includes('access_request.opened'));
    const [{ data }] = receiver.of(request.id);
    expect(data.recipients).toEqual(['alice', 'bob']);
    const { id: requestId, generation, callDigest, recipients } = data;
    const body = JSON.stringify({
      requestId,
      generation,
      callDigest,
      approver: { subject: recipients[1] },
      verdict: 'deny',
    });
    const sent = await postSigned(`${service.url}/webhooks/decisions`, body, {
      id: `msg_${requestId}`,
      secret: service.secrets.decisionWebhookSecret,
    });
    expect(sent.status).toBe(200);
    await waitFor(() => events(request.id).includes('access_request.ended'));
  });

  it('repeats a message until the receiver accepts it', async () => {
    // No message about other requests is due, and only the opening of this one.
    await waitFor(async () => (await service.database.pool.query('SELECT FROM approvals.outbox')).rowCount === 0);
    receiver.answers.push(500, 302);
    const request = await open('patient');
    await waitFor(() => receiver.messages.filter(({ body }) => body.includes(request.id)).length >= 3);
    const opened = receiver.messages.filter(({ body }) => body.includes(request.id) && body.includes('.opened'));
    expect(new Set(opened.map(({ body }) => body)).size).toBe(1);
    expect(new Set(opened.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('escalates to the next stage when the first is late, and announces it', async () => {
    const request = await open('escalating');
    await waitFor(() => events(request.id).includes('access_request.escalated'));
    const said = receiver.of(request.id).find(({ type }) => type === 'access_request.escalated');
    expect(said?.data).toMatchObject({ stage: 'director', step: 2 });
    expect((await service.vote('alice', request, 'approve')).status).toBe(200);
    await waitFor(() => events(request.id).includes('access_request.ended'));
  });

  it('ends a request after its deadline without any read', async () => {
    const late = await open('brief');
    await waitFor(() => events(late.id).includes('access_request.ended'));
    expect((await service.status(late.id)).body.task.status).toBe('denied');
  });

  it('sends one reminder for all that came due while the service was down', async () => {
    const { id } = await open('patient');
    await service.pause();
    await service.database.pool.query(`ALTER TABLE approvals.access_request DISABLE TRIGGER USER;
      UPDATE approvals.access_request SET stage_opened_at = stage_opened_at - interval '10 minutes',
        remind_at = remind_at - interval '10 minutes', stage_ends_at = stage_ends_at + interval '10 minutes' WHERE id = '${id}';
      ALTER TABLE approvals.access_request ENABLE TRIGGER USER`);
    await service.restart();
    await waitFor(() => events(id).includes('access_request.reminder'));
    expect(events(id).filter((event) => event === 'access_request.reminder')).toHaveLength(1);
  });
});
