import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { Webhook } from 'standardwebhooks';
import * as z from 'zod';
import { callDigest } from '../../../workflows/domain/gated-call/call-binding.ts';
import { systemClock } from '../../shared/clock.ts';
import { loadDevelopmentSecrets } from '../../shared/config/development-secrets.ts';
import type { Config } from '../../shared/config/config.ts';
import { sha256 } from '../../shared/crypto.ts';
import { until } from '../../shared/embedded/process-tools.ts';
import { signedHeaders } from '../../shared/http/webhook-signature.ts';
import { type Api, findPerson, openApi, signIn } from '../api.ts';
import { CliError, type Io, json, readConfig } from '../context.ts';
import type { Demo, ExactCall } from '../demo/run-demo.ts';
import { exampleFiles, findStack } from '../stack.ts';
import { runStack } from './up.ts';
import { OWN_COMMAND } from '../own-command.ts';

/** `demo`: an agent makes three calls at the running stack, or at a stack that the demonstration starts. */
export function demoCommand(io: Io): Command {
  return new Command('demo')
    .description('watch an agent make three calls: one is allowed, one waits for an approval, one is refused')
    .option('--auto', 'let a scripted approver decide by the signed webhook, instead of you')
    .option('--json', 'print the complete outcome record of the held call as JSON on stdout, and the story on stderr')
    .action(async (options: { auto?: boolean; json?: boolean }, command: Command) => {
      const loaded = readConfig(io, command);
      const { config } = loaded;
      const say = options.json ? (line: string) => io.err(line) : (line: string) => io.out(line);
      const show = async () => {
        // Loaded on demand, because the client of the agent is a development dependency.
        const { runDemo } = await import('../demo/run-demo.ts');
        const record = await runDemo({ ...(await prepare(io, config, options.auto === true)), say });
        if (options.json) io.out(json(record));
      };
      if (await findStack(config)) return show();
      io.err('Countersign is not running, so the demonstration starts it and stops it at the end.');
      await runStack(io, loaded, async () => {
        await show();
        say(`Run \`${OWN_COMMAND} up\` to see the record and its page again.`);
      });
    });
}

async function prepare(io: Io, config: Config, auto: boolean): Promise<Omit<Demo, 'say'>> {
  const { people } = config.identity;
  const { name: agent } = findPerson(people, { role: 'agent' });
  const { token: agentToken, urls } = await signIn(io, config, { audience: 'mcp', name: agent });
  const { name: auditor } = findPerson(people, { role: 'auditor' });
  const { api: audit } = await openApi(io, config, { audience: 'audit', name: auditor });
  const approvers = people.filter(({ roles }) => roles.includes('approver'));
  return {
    urls,
    files: exampleFiles(config),
    agentToken,
    audit,
    approvers: approvers.map(({ name }) => name),
    approve: auto ? await scriptedApproval(io, config) : undefined,
  };
}

/** Approves exactly this call by the signed webhook, as a ticket system or a chat bot would. Other open requests stay unchanged. */
async function scriptedApproval(io: Io, config: Config): Promise<NonNullable<Demo['approve']>> {
  const { secrets } = await loadDevelopmentSecrets(config.stateDir);
  const { name: approver } = findPerson(config.identity.people, { role: 'approver' });
  const { api: inbox, urls } = await openApi(io, config, { audience: 'approvals', name: approver });
  return async (call) => {
    const request = await openRequestOf(inbox, call);
    const body = JSON.stringify({
      requestId: request.id,
      generation: request.generation,
      callDigest: request.callDigest,
      approver: { subject: approver },
      verdict: 'approve',
      reason: 'Approved by the demonstration',
    });
    const signed = { id: `msg_${randomUUID()}`, body, at: new Date(systemClock.now()) };
    const headers = signedHeaders(new Webhook(secrets.decisionWebhookSecret), signed);
    const response = await fetch(`${urls.approvals}/webhooks/decisions`, { method: 'POST', headers, body });
    if (response.ok) return;
    throw new CliError(
      `the decision webhook answered ${response.status}: ${await response.text()}; read the log of the inbox`,
    );
  };
}

const openRequests = z.object({
  requests: z.array(z.looseObject({ id: z.string(), generation: z.number(), callDigest: z.string() })),
});

/** Waits for the open request of exactly this call. */
async function openRequestOf(inbox: Api, call: ExactCall) {
  const digest = callDigest(call, sha256);
  const find = async () => {
    const { requests } = await inbox.get('/requests?status=pending&order=newest&limit=200', openRequests);
    return requests.find((one) => one.callDigest === digest);
  };
  const request = await until(find, { withinMs: 30_000, everyMs: 200 });
  if (request !== undefined) return request;
  throw new CliError(`no request arrived for this call of ${call.tool}; see \`npx countersign requests list\``);
}
