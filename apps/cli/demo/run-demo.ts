import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { createApi } from '../api.ts';
import { CliError, json, visible } from '../output.ts';
import { connectAgent, type Agent, type ToolAnswer } from './agent.ts';

/** Everything the demonstration needs to know of a running stack, and where it speaks to. */
export interface Demo {
  readonly urls: { readonly mcp: string; readonly approvals: string; readonly audit: string };
  /** Folder that the file server of the example configuration may use. */
  readonly files: string;
  readonly agentToken: string;
  readonly auditorToken: string;
  /** Names that may sign in to the inbox. */
  readonly approvers: readonly string[];
  /** Present with `--auto`: approves the write. */
  readonly approve: (() => Promise<void>) | undefined;
  readonly say: (line: string) => void;
}

const recordSchema = z.looseObject({ outcomeRef: z.string(), disposition: z.string().nullable().optional() });
/** The outcome record of the write. */
export type DemoRecord = z.infer<typeof recordSchema>;

/** One agent, three calls: one allowed, one that waits for a person, one refused. Answers the record of the second. */
export async function runDemo(demo: Demo): Promise<DemoRecord> {
  const agent = await connectAgent(demo.urls.mcp, demo.agentToken);
  try {
    mkdirSync(demo.files, { recursive: true });
    await readFile(demo, agent);
    const taskId = await writeFile(demo, agent);
    await moveFile(demo, agent);
    return await showRecord(demo, taskId);
  } finally {
    await agent.close();
  }
}

async function readFile({ files, say }: Demo, agent: Agent): Promise<void> {
  const path = join(files, 'welcome.txt');
  writeFileSync(path, 'Welcome to Countersign.\n');
  say('(a) The agent reads a file. Policy allows it.');
  show(say, 'files__read_text_file', await agent.call('files__read_text_file', { path }));
}

async function writeFile(demo: Demo, agent: Agent): Promise<string> {
  const { say, files } = demo;
  const path = join(files, `written-${new Date().toISOString().replaceAll(/[:.]/g, '-')}.txt`);
  say('');
  say('(b) The agent writes a file. Policy wants somebody to agree first.');
  let told = false;
  const called = agent.call('files__write_file', { path, content: 'Written after an approval.\n' }, (task) => {
    if (told) return;
    told = true;
    say(`    the agent got a task instead of a result: ${task.taskId}, ${task.status}`);
    if (demo.approve === undefined) {
      say(
        `    now it is your turn: open ${demo.urls.approvals}/requests and sign in as ${demo.approvers.join(' or ')}`,
      );
      say('    waiting for your decision …');
    } else {
      say('    a scripted approver decides through the signed webhook …');
    }
  });
  const [answer] = await Promise.all([called, demo.approve?.()]);
  show(say, 'files__write_file', answer);
  if (answer.taskId === undefined) throw new CliError('the write was not held; is this the example configuration?');
  return answer.taskId;
}

async function moveFile({ files, say }: Demo, agent: Agent): Promise<void> {
  say('');
  say('(c) The agent moves a file. Policy refuses it for good.');
  const source = join(files, 'welcome.txt');
  show(say, 'files__move_file', await agent.call('files__move_file', { source, destination: `${source}.moved` }));
}

async function showRecord({ urls, auditorToken, say }: Demo, taskId: string): Promise<DemoRecord> {
  const audit = createApi(urls.audit, auditorToken);
  const record = await audit.get(`/outcome-records/by-task/${taskId}`, recordSchema);
  say('');
  say('What auditors can read about (b):');
  for (const line of json(record).split('\n')) say(`    ${line}`);
  say(`    as a page: ${urls.audit}/outcome-records/${record.outcomeRef}`);
  return record;
}

function show(say: Demo['say'], tool: string, answer: ToolAnswer): void {
  const how = answer.isError ? 'refused or failed' : 'done';
  say(`    ${tool}: ${answer.status === 'completed' ? how : answer.status}`);
  for (const line of answer.text.trim().split('\n')) say(`      ${visible(line)}`);
}
