import { Command } from 'commander';
import { loadDevelopmentSecrets } from '../../shared/config/development-secrets.ts';
import type { Config, Person } from '../../shared/config/config.ts';
import { CliError, type Io, json, readConfig } from '../context.ts';
import { approveByWebhook } from '../demo/scripted-approver.ts';
import type { Demo } from '../demo/run-demo.ts';
import { exampleFiles } from '../example-files.ts';
import { openApi, signIn } from '../people.ts';
import { findStack } from '../stack.ts';
import { runStack } from './up.ts';

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
        say('Run `npm start` to see the record and its page again.');
      });
    });
}

async function prepare(io: Io, config: Config, auto: boolean): Promise<Omit<Demo, 'say'>> {
  const agent = first(config, 'agent');
  const { token: agentToken, urls } = await signIn(io, config, { audience: 'mcp', name: agent.name });
  const { api: audit } = await openApi(io, config, { audience: 'audit', name: first(config, 'auditor').name });
  const approvers = config.identity.people.filter(({ roles }) => roles.includes('approver'));
  return {
    urls,
    files: exampleFiles(config),
    agentToken,
    audit,
    approvers: approvers.map(({ name }) => name),
    approve: auto ? await scriptedApproval(io, config) : undefined,
  };
}

async function scriptedApproval(io: Io, config: Config): Promise<NonNullable<Demo['approve']>> {
  const { secrets } = await loadDevelopmentSecrets(config.stateDir);
  const { name: approver } = first(config, 'approver');
  const { api: inbox, urls } = await openApi(io, config, { audience: 'approvals', name: approver });
  const webhookUrl = `${urls.approvals}/webhooks/decisions`;
  return (call) => approveByWebhook({ inbox, approver, webhookUrl, secret: secrets.decisionWebhookSecret }, call);
}

function first({ identity }: Config, role: string): Person {
  const found = identity.people.find(({ roles }) => roles.includes(role));
  if (found !== undefined) return found;
  throw new CliError(`the demonstration needs a person with the role ${role}; add one to identity.people`);
}
