import { parseArgs } from 'node:util';
import { withOwnServers } from '../support/own-servers.ts';
import { LEAST_REQUESTS } from './requests.ts';
import { type Figures, runDay } from './run-day.ts';

const HELP = `A day of an approver in Chromium: 200 requests of 12 tools by 6 agents, once by keyboard alone and once on a touch screen of
390 pixels. Says how many presses each task took, and how many seconds until the page answered it. A decision counts
five seconds later, when it can no longer be undone. Also says how soon another browser shows a decision, and what open pages cost while
nothing happens.

  npm run test:day                      all of it
  npm run test:day -- --requests 60     with this many requests, 40 or more
  npm run test:day -- --idle 20         measures open pages for this many seconds (120)
  npm run test:day -- --json            figures as JSON on stdout
`;

const {
  values: { requests, idle, json, help },
} = parseArgs({
  options: {
    requests: { type: 'string', default: '200' },
    idle: { type: 'string', default: '120' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

function words({ requests: count, tasks, seenAfter, idle: quiet, wrong }: Figures): string {
  const lines = Object.entries(tasks).flatMap(([manner, figures]) => [
    `by ${manner}, of ${count} requests`,
    ...Object.entries(figures).map(
      ([task, { presses, seconds, countedSeconds }]) =>
        `  ${task.padEnd(38)} ${String(presses).padStart(3)} presses, a visible answer after ${seconds.toFixed(1).padStart(4)} s` +
        (countedSeconds === undefined ? '' : `, counted after ${countedSeconds.toFixed(1).padStart(4)} s`),
    ),
  ]);
  return [
    ...lines,
    `another browser shows a decision after ${seenAfter.list.toFixed(0)} ms in its list, ${seenAfter.page.toFixed(0)} ms on the page`,
    `${quiet.pages} open pages with ${quiet.requests} open requests cost ${(quiet.share * 100).toFixed(1)} % of a core in ${quiet.seconds.toFixed(0)} s`,
    ...wrong.slice(0, 10),
    `wrong votes: ${wrong.length}`,
    '',
  ].join('\n');
}

const count = Number(requests);
if (help === true) process.stdout.write(HELP);
else if (!Number.isSafeInteger(count) || count < LEAST_REQUESTS) {
  process.stderr.write(`--requests is "${requests}": give a whole number from ${LEAST_REQUESTS}.\n`);
  process.exitCode = 1;
} else {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const sizes = { requests: count, idleRequests: 1_000, idlePages: 50, idleSeconds: Number(idle) };
  const figures = await withOwnServers(() => runDay(sizes, say));
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : words(figures));
  if (figures.wrong.length > 0) process.exitCode = 1;
}
