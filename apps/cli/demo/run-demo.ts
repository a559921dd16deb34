import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TaskView } from '@modelcontextprotocol/ext-tasks/client';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { systemClock } from '../../shared/clock.ts';
import type { Api } from '../api.ts';
import { findOutcomeRecord, outcomeInWords, type OutcomeRecord } from '../outcome-record.ts';
import { CliError, visible } from '../context.ts';
import { type Agent, connectAgent } from './agent.ts';
import { OWN_COMMAND } from '../own-command.ts';

/** A tool with the complete arguments of a call. */
export interface ExactCall {
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** A running stack, and the output of the demonstration. */
export interface Demo {
  readonly urls: { readonly mcp: string; readonly approvals: string; readonly audit: string };
  /** Folder of the file server of the example configuration. */
  readonly files: string;
  readonly agentToken: string;
  /** The audit API for an auditor. */
  readonly audit: Api;
  /** Names that may sign in to the inbox. */
  readonly approvers: readonly string[];
  /** Present with `--auto`: approves exactly this call. */
  readonly approve: ((call: ExactCall) => Promise<void>) | undefined;
  readonly say: (line: string) => void;
}

const READ = 'files__read_text_file';
const WRITE = 'files__write_file';
const MOVE = 'files__move_file';

/** An agent makes three calls: one is allowed, one waits for an approver, one is refused. Returns the record of the second. */
export async function runDemo(demo: Demo): Promise<OutcomeRecord> {
  demo.say(
    `An agent makes three calls at the gateway, ${demo.urls.mcp}. It supports tools and tasks, and knows no approvals.`,
  );
  const agent = await connectAgent(demo.urls.mcp, demo.agentToken);
  try {
    await requireTools(agent);
    mkdirSync(demo.files, { recursive: true });
    await readFile(demo, agent);
    const taskId = await writeFile(demo, agent);
    await moveFile(demo, agent);
    return await showRecord(demo, taskId);
  } finally {
    await agent.close();
  }
}

async function requireTools(agent: Agent): Promise<void> {
  const present = new Set(await agent.toolNames());
  const missing = [READ, WRITE, MOVE].filter((name) => !present.has(name));
  if (missing.length > 0)
    throw notTheExample(
      `the gateway does not offer ${missing.join(', ')} (its server may still be starting; try again)`,
    );
}

const notTheExample = (what: string) =>
  new CliError(
    `${what}; the demonstration needs the file server and the rules of the example. Run it in an empty folder`,
  );

async function readFile({ files, say }: Demo, agent: Agent): Promise<void> {
  const path = join(files, 'welcome.txt');
  writeFileSync(path, 'Welcome to Countersign.\n');
  say('');
  say(`(a) The agent calls ${READ}: it wants to read ${basename(path)}.`);
  const answer = await agent.call(READ, { path });
  if (answer.isError || answer.taskId !== undefined) throw notTheExample(`${READ} was not answered at once`);
  say('    Policy permits reading, so the gateway forwarded the call. The answer:');
  quote(say, answer.text);
}

async function writeFile(demo: Demo, agent: Agent): Promise<string> {
  const { say, files } = demo;
  const path = join(files, `written-${new Date(systemClock.now()).toISOString().replaceAll(/[:.]/g, '-')}.txt`);
  const args = { path, content: 'Written after an approval.\n' };
  say('');
  say(`(b) The agent calls ${WRITE}: it wants to write ${basename(path)}.`);
  let isShown = false;
  const called = agent.call(WRITE, args, (task) => {
    if (!isShown) showTask(demo, task);
    isShown = true;
  });
  const [answer] = await Promise.all([called, demo.approve?.({ tool: WRITE, arguments: args })]);
  if (answer.taskId === undefined) throw notTheExample(`${WRITE} was not held`);
  say(`    The agent polled its task until the end. The answer (${answer.status}):`);
  quote(say, answer.text);
  return answer.taskId;
}

function showTask({ say, approve, urls, approvers }: Demo, { taskId, status, statusMessage }: TaskView): void {
  say('    Policy requires an approval for writing, so the gateway answered with a task instead of a result:');
  quote(say, `${taskId} (${status})`);
  if (statusMessage !== undefined) quote(say, statusMessage);
  if (approve !== undefined)
    return say('    A scripted approver finds exactly this call and approves it, by a signed webhook.');
  say(`    Now it is your turn. Open ${urls.approvals}/requests and sign in as ${approvers.join(' or ')},`);
  say(`    or run in another terminal: ${OWN_COMMAND} requests list. Waiting for your decision …`);
}

async function moveFile({ files, say }: Demo, agent: Agent): Promise<void> {
  const source = join(files, 'welcome.txt');
  say('');
  say(`(c) The agent calls ${MOVE}: it wants to move ${basename(source)}.`);
  const answer = await agent.call(MOVE, { source, destination: `${source}.moved` });
  if (!answer.isError || answer.taskId !== undefined) throw notTheExample(`${MOVE} was not refused at once`);
  say('    Policy forbids moving, and no approval can change that, so the gateway refused the call. The answer:');
  quote(say, answer.text);
}

async function showRecord({ urls, audit, say }: Demo, taskId: string): Promise<OutcomeRecord> {
  const record = await findOutcomeRecord(audit, taskId);
  say('');
  say('The record of (b) for auditors:');
  for (const line of outcomeInWords(record, urls.audit).split('\n')) say(`    ${line}`);
  say('');
  say(`Show it again: ${OWN_COMMAND} audit show ${taskId} (--json adds every recorded detail)`);
  return record;
}

function quote(say: Demo['say'], text: string): void {
  for (const line of text.trim().split('\n')) say(`      ${visible(line)}`);
}
