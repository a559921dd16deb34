import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OWN_FILE, setUpClaudeCode } from './claude-code-setup.ts';
import { drive, given, HOME, LIST, say, wordsToRead, wordsToWrite } from './common.ts';
import { packed, Terminal, unbroken } from './terminal.ts';

const PROGRAM = given('HOST_PROGRAM');
const SCREENS = given('HOST_SCREENS');
const START = 'claude --permission-mode default --allowedTools mcp__countersign';
const PROMPT = /^❯$/m;
const QUESTION = 'wants to open a URL';
/** The answers behind the first one, which opens the page in a browser. */
const ANSWERS = ["I'm done, continue", 'Decline'];
const [ACCEPT = '', DECLINE = ''] = ANSWERS;
const RESUME = /^claude .*--resume \S+$/m;

await drive(async (modelUrl) => {
  const env = await setUpClaudeCode(PROGRAM, modelUrl);
  answerFirstQuestions();
  mkdirSync(SCREENS, { recursive: true });
  symlinkSync(PROGRAM, join(HOME, 'bin', 'claude'));
  const terminal = await Terminal.open(join(HOME, 'terminal'), env);
  try {
    await takeSteps(terminal);
  } finally {
    terminal.close();
  }
});

/** What it asks before its first use: colours, and whether the folder is trusted. */
function answerFirstQuestions(): void {
  const content = JSON.parse(readFileSync(OWN_FILE, 'utf8')) as object;
  const answers = {
    ...{ hasCompletedOnboarding: true, theme: 'light' },
    projects: { [HOME]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  };
  writeFileSync(OWN_FILE, JSON.stringify({ ...content, ...answers }));
}

async function takeSteps(terminal: Terminal): Promise<void> {
  const [inTime, late] = [given('HOST_WRITE_IN_TIME'), given('HOST_WRITE_LATE')];
  await terminal.type(START);
  await waitForServers(terminal);
  await ask(terminal, LIST);
  const tools = await terminal.see((text) => packed(text).includes('get_request_status'), 'the tools');
  say({ at: 'tools', said: unbroken(tools) });
  await ask(terminal, wordsToRead());
  say({ at: 'allowed', said: await terminal.see((text) => text.includes('Grüße'), 'the file') });

  keep('asked', await makeHeldCall(terminal, inTime, ACCEPT));
  keep('waiting', await followTask(terminal));
  say({ at: 'answered' });
  say({ at: 'in-time', said: keep('approved', await seeResult(terminal, inTime)) });

  await makeHeldCall(terminal, late, DECLINE);
  say({ at: 'answered' });
  const resume = await exit(terminal);
  say({ at: 'closed' });
  await once(process.stdin, 'data');
  process.stdin.destroy();
  await terminal.type(resume);
  say({ at: 'ended', said: keep('resumed', await seeResult(terminal, late)) });
}

/** It connects while a person already types. */
async function waitForServers(terminal: Terminal): Promise<void> {
  await ask(terminal, '/mcp');
  await terminal.see((text) => text.includes('✔ countersign'), 'the connected server');
  await terminal.pressUntil('Escape', hasPrompt, 'its prompt after the servers');
}

async function ask(terminal: Terminal, words: string): Promise<void> {
  await terminal.see(hasPrompt, 'its prompt');
  await terminal.type(words);
}

/** Makes a call that is held and then another one. It asks the person by itself to open the page, and gets an answer. Answers what the person saw. */
async function makeHeldCall(terminal: Terminal, path: string, answer: string): Promise<string> {
  await ask(terminal, `${wordsToWrite(path)}, then ${wordsToRead()}`);
  const isAsked = (text: string) => text.includes(QUESTION) && newest(text).includes('● {"content"');
  const asked = await terminal.see(isAsked, 'the question');
  say({ at: 'asked', said: newest(asked) });
  for (const next of ANSWERS.slice(0, ANSWERS.indexOf(answer) + 1)) {
    await terminal.pressUntil('Right', (text) => text.includes(`❯ ${next}`), `the answer ${next}`);
  }
  const isAnswered = (text: string) => hasPrompt(text) && !text.includes(QUESTION);
  await terminal.pressUntil('Enter', isAnswered, 'its prompt after the answer');
  return asked;
}

/** What a person sees who looks at the task. */
async function followTask(terminal: Terminal): Promise<string> {
  await terminal.press('Down');
  await terminal.see((text) => text.includes('enter to view'), 'the line of the tasks');
  await terminal.pressUntil('Enter', (text) => text.includes('MCP task\n'), 'the task');
  const isShown = (text: string) => /Status: +working/.test(text) && packed(text).includes('/calls/req_');
  const text = await terminal.see(isShown, 'the task that goes on, with its page');
  await terminal.pressUntil('Escape', hasPrompt, 'its prompt after the task');
  return text;
}

/** The model has read the result. */
function seeResult(terminal: Terminal, path: string): Promise<string> {
  const isTold = (text: string) => packed(text).includes(packed(`● {"content":"Successfully wrote to ${path}"}`));
  return terminal.see(isTold, `the result of ${path}`);
}

/** Leaves it, and answers the command with which it says that a person comes back. */
async function exit(terminal: Terminal): Promise<string> {
  await ask(terminal, '/exit');
  const text = await terminal.see((text) => RESUME.test(text), 'how to resume');
  return RESUME.exec(text)?.[0] ?? '';
}

function hasPrompt(text: string): boolean {
  return PROMPT.test(text);
}

/** What a person sees since they last asked for something. */
function newest(text: string): string {
  return text.slice(text.lastIndexOf('❯ Call the tool'));
}

/** Keeps what the person sees, for the documents. */
function keep(state: string, text: string): string {
  writeFileSync(join(SCREENS, `${state}.txt`), `${text}\n`);
  return text;
}
