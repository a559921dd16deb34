import { parseArgs } from 'node:util';
import { withOwnServers } from '../support/own-servers.ts';
import { runQuorum, type QuorumFigures } from './run-quorum.ts';

const HELP = `Three approvers vote at the same moment on a request that needs two of them: in two browsers, with a token and by webhook,
some of them twice. Each request has to end once, approved, by two people who count once.

  npm run test:quorum                     1,000 requests
  npm run test:quorum -- --requests 50    this many
  npm run test:quorum -- --json           figures as JSON on stdout
`;

const {
  values: { requests, json, help },
} = parseArgs({
  options: { requests: { type: 'string', default: '1000' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
});

const list = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

function words(figures: QuorumFigures): string {
  const lines = [
    `${figures.requests} requests in ${figures.seconds.toFixed(1)} s; ${figures.sent} votes were sent`,
    `answers: ${list(figures.answers)}`,
    `requests: ${list(figures.statuses)}; callbacks received for ${figures.callbacks}`,
    `contradictions: ${figures.contradictions.length}`,
    ...figures.contradictions.slice(0, 10),
  ];
  return `${lines.join('\n')}\n`;
}

if (help === true) process.stdout.write(HELP);
else {
  const figures = await withOwnServers(() => runQuorum(Number(requests)));
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : words(figures));
  if (figures.contradictions.length > 0) process.exitCode = 1;
}
