import { join } from 'node:path';
import { Command } from 'commander';
import { loadDevelopmentSecrets } from '../../shared/config/development-secrets.ts';
import type { Config, Person } from '../../shared/config/config.ts';
import { limitsOf } from '../../shared/limits.ts';
import { createApi } from '../api.ts';
import { CliError, type Io, json, readConfig } from '../context.ts';
import { createScriptedApprover } from '../demo/scripted-approver.ts';
import type { Demo } from '../demo/run-demo.ts';
import { signIn } from '../people.ts';
import { findStack } from '../stack.ts';
import { runStack } from './up.ts';

/** `demo`: an agent makes three calls against the running stack, or against one that is started for it. */
export function demoCommand(io: Io): Command {
  return new Command('demo')
    .description('watch an agent make three calls: one is allowed, one waits for an approval, one is refused')
    .option('--auto', 'let a scripted approver decide through the signed webhook instead of waiting for you')
    .option('--json', 'print the whole outcome record of the held call as JSON on stdout, and the story on stderr')
    .action(async (options: { auto?: boolean; json?: boolean }, command: Command) => {
      const loaded = readConfig(io, command);
      const { config } = loaded;
      const say = options.json ? (line: string) => io.err(line) : (line: string) => io.out(line);
      const show = async () => {
        // Loaded when wanted: the agent's client is a development dependency.
        const { runDemo } = await import('../demo/run-demo.ts');
        const record = await runDemo({ ...(await prepare(io, config, options.auto === true)), say });
        if (options.json) io.out(json(record));
      };
      if (await findStack(config)) return show();
      io.err('Nothing is running yet, so everything is started for the demonstration and stopped after it.');
      await runStack(io, loaded, async () => {
        await show();
        say('Start everything again with `npm start` to look at the record and its page.');
      });
    });
}

async function prepare(io: Io, config: Config, auto: boolean): Promise<Omit<Demo, 'say'>> {
  const agent = first(config, 'agent');
  const { token: agentToken, urls } = await signIn(io, config, { audience: 'mcp', name: agent.name });
  const { token: auditorToken } = await signIn(io, config, { audience: 'audit', name: first(config, 'auditor').name });
  const approvers = config.identity.people.filter(({ roles }) => roles.includes('approver'));
  return {
    urls,
    files: join(config.stateDir, 'files'),
    agentToken,
    auditorToken,
    approvers: approvers.map(({ name }) => name),
    limits: limitsOf(config),
    approve: auto ? await scriptedApproval(io, config) : undefined,
  };
}

async function scriptedApproval(io: Io, config: Config): Promise<NonNullable<Demo['approve']>> {
  const { secrets } = await loadDevelopmentSecrets(config.stateDir);
  const approver = first(config, 'approver');
  const { token, urls } = await signIn(io, config, { audience: 'approvals', name: approver.name });
  const scripted = createScriptedApprover({
    inbox: createApi(urls.approvals, token, limitsOf(config)),
    approver: approver.name,
    webhookUrl: `${urls.approvals}/webhooks/decisions`,
    secret: secrets.decisionWebhookSecret,
  });
  return (call) => scripted.approve(call);
}

function first({ identity }: Config, role: Person['roles'][number]): Person {
  const found = identity.people.find(({ roles }) => roles.includes(role));
  if (found !== undefined) return found;
  throw new CliError(`the demonstration needs somebody with the role ${role}; add one to identity.people`);
}
