import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { destination, type Logger, multistream, pino } from 'pino';
import * as z from 'zod';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { logScope } from './log-scope.ts';

export type { Logger };

interface LoggerOptions {
  /** In production every line is JSON on stdout, for a collector. */
  readonly mode: 'development' | 'production';
  /** Development: folder that gets `logs/countersign.log`. Without it only warnings are shown. */
  readonly stateDir?: string;
  /** Least severe level that is kept: one of `LEVELS`. Default `info`. */
  readonly level?: string | undefined;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** What no log may hold: whoever reads a log must not be able to act as somebody or see what a tool was given. */
const SECRET_NAMES = [
  ...['authorization', 'cookie', 'set-cookie', 'token', 'access_token', 'id_token', 'refresh_token', 'client_secret'],
  ...['password', 'secret', 'secrets', 'arguments', 'approver', 'approvers'],
];
const PREFIXES = ['', '*.', '*.*.'];

/**
 * A log of its own for one part of the product. In development everything goes to the file and warnings also to
 * stderr in one readable line; stdout stays free for what a command prints. Throws `ERR_CONFIG_INVALID` for a level
 * that there is not.
 */
export function createLogger(name: string, { mode, stateDir, level: wanted = 'info' }: LoggerOptions): Logger {
  const level = LEVELS.find((one) => one === wanted);
  if (level === undefined) {
    throw new CountersignError('ERR_CONFIG_INVALID', `COUNTERSIGN_LOG_LEVEL has to be one of ${LEVELS.join(', ')}`);
  }
  const paths = PREFIXES.flatMap((prefix) => SECRET_NAMES.map((secret) => pathOf(prefix, secret)));
  // A copy: pino adds the fields of the line to it.
  const mixin = () => ({ ...logScope() });
  const options = { name, level, mixin, redact: { paths, censor: '[redacted]' } };
  if (mode === 'production') return pino(options, destination({ dest: 1, sync: false }));
  const streams = [
    { level: 'warn' as const, stream: { write: (line: string) => void process.stderr.write(readable(line)) } },
  ];
  if (stateDir === undefined) return pino(options, multistream(streams));
  const folder = join(stateDir, 'logs');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Open at once: a process that ends in its first moments could not write its last lines to a file that is opened meanwhile.
  const file = destination({ dest: openSync(join(folder, 'countersign.log'), 'a', 0o600), sync: false });
  return pino(options, multistream([...streams, { level, stream: file }]));
}

function pathOf(prefix: string, name: string): string {
  return /^\w+$/.test(name) ? `${prefix}${name}` : `${prefix.replace(/\.$/, '')}["${name}"]`;
}

const entry = z.looseObject({
  level: z.number(),
  time: z.number(),
  name: z.string().optional(),
  part: z.string().optional(),
  upstream: z.string().optional(),
  msg: z.string().optional(),
  err: z.looseObject({ message: z.string(), code: z.unknown().optional() }).optional(),
});

/** `12:03:11 warn gateway: what happened: why`. Words of strangers are in it: what a terminal would obey is escaped. */
function readable(line: string): string {
  const parsed = entry.safeParse(JSON.parse(line));
  if (!parsed.success) return line;
  const { level, time, name, part, upstream, msg, err } = parsed.data;
  const cause = err === undefined || err.message === msg ? undefined : err.message;
  const text = [msg, cause].filter((piece) => piece !== undefined && piece !== '').join(': ');
  const clock = new Date(time).toTimeString().slice(0, 8);
  const who = [part ?? name ?? '', ...(upstream === undefined ? [] : [`(${upstream})`])].join(' ');
  const said = visible(`${who}: ${text.replaceAll(/\s*\n\s*/g, ' | ')}`);
  return `${clock} ${pino.levels.labels[level] ?? level} ${said}\n`;
}

// Tools, arguments and names come from strangers: a terminal would obey their control characters and reorder their text.
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** The text with everything invisible made visible, on one line. */
export function visible(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
