import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { destination, type DestinationStream, type Logger, multistream, pino } from 'pino';
import * as z from 'zod';
import { CountersignError, isDatabaseAway } from '../../workflows/domain/errors.ts';
import { logScope } from './log-scope.ts';

export type { Logger };

interface LoggerOptions {
  /** In production, every line is JSON on stdout, for a collector. */
  readonly mode: 'development' | 'production';
  /** In development, the folder of `logs/countersign.log`. Without it, only warnings are shown. */
  readonly stateDir?: string;
  /** Least severe level that is logged: one of `LEVELS`. Default: `info`. */
  readonly level?: string | undefined;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** Fields that no log may contain: a reader of a log must not be able to impersonate a person or to see a tool's arguments. */
const SECRET_NAMES = [
  ...['authorization', 'cookie', 'set-cookie', 'token', 'access_token', 'id_token', 'refresh_token', 'client_secret'],
  ...['password', 'secret', 'secrets', 'arguments', 'approver', 'approvers'],
];
const PREFIXES = ['', '*.', '*.*.'];

/**
 * A log for one part of the product. In development, all lines go to the file, and warnings also to stderr in readable form; stdout stays
 * free for the output of commands. Throws `ERR_CONFIG_INVALID` for an unknown level.
 */
export function createLogger(name: string, { mode, stateDir, level: wanted = 'info' }: LoggerOptions): Logger {
  const level = LEVELS.find((one) => one === wanted);
  if (level === undefined) {
    throw new CountersignError('ERR_CONFIG_INVALID', `COUNTERSIGN_LOG_LEVEL has to be one of ${LEVELS.join(', ')}`);
  }
  const paths = PREFIXES.flatMap((prefix) => SECRET_NAMES.map((secret) => pathOf(prefix, secret)));
  // A copy, because pino adds the fields of the line to it.
  const mixin = () => ({ ...logScope() });
  const options = { name, level, mixin, redact: { paths, censor: '[redacted]' } };
  if (mode === 'production') return durable(1, (stream) => pino(options, stream));
  // A terminal that was closed must not end the process.
  if (!process.stderr.listeners('error').includes(ignore)) process.stderr.on('error', ignore);
  const streams = [
    { level: 'warn' as const, stream: { write: (line: string) => void process.stderr.write(readable(line)) } },
  ];
  if (stateDir === undefined) return pino(options, multistream(streams));
  const folder = join(stateDir, 'logs');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Opened synchronously, so that a process that ends in its first moments can still write its last lines.
  const file = openSync(join(folder, 'countersign.log'), 'a', 0o600);
  return durable(file, (stream) => pino(options, multistream([...streams, { level, stream }])));
}

const ignore = () => undefined;

/** Lines that wait for a destination that takes none, in bytes. Further lines are dropped, and counted. */
const WAITING_BYTES = 8 * 1024 * 1024;

/**
 * A log that survives a destination that takes no lines, such as a full disk: without a listener, the first error would end the process.
 * Lines wait, each new one tries again, and the log says afterwards how many were dropped.
 */
function durable(fd: number, create: (stream: DestinationStream) => Logger): Logger {
  const stream = destination({ dest: fd, sync: false, maxLength: WAITING_BYTES });
  const log = create(stream);
  const flushSync = stream.flushSync.bind(stream);
  let dropped = 0;
  stream.on('drop', () => {
    dropped += 1;
  });
  stream.on('error', () => {
    // At the end of the process, the original would try for ever.
    stream.flushSync = ignore;
  });
  stream.on('write', () => {
    stream.flushSync = flushSync;
    if (dropped === 0) return;
    log.warn({ dropped }, 'the log could not be written for a while, and these many lines of it were dropped');
    dropped = 0;
  });
  return log;
}

/**
 * Logs a failure of work that is tried again by itself. While the database is away, an alarm says so (`databaseNeed`), and a line for each
 * attempt would hide it: such a failure is a detail.
 */
export function logRepeated(log: Logger, error: unknown, message: string, level: 'warn' | 'error' = 'warn'): void {
  log[isDatabaseAway(error) ? 'debug' : level]({ err: error }, message);
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

/** `12:03:11 warn gateway: message: cause`. Parts of it come from outside, so control characters are escaped. */
function readable(line: string): string {
  const parsed = entry.safeParse(JSON.parse(line));
  if (!parsed.success) return line;
  const { level, time, name, part, upstream, msg, err } = parsed.data;
  const cause = err === undefined || err.message === msg ? undefined : err.message;
  const text = [msg, cause].filter((piece) => piece !== undefined && piece !== '').join(': ');
  const clock = new Date(time).toTimeString().slice(0, 8);
  const source = [part ?? name ?? '', ...(upstream === undefined ? [] : [`(${upstream})`])].join(' ');
  const shown = visible(`${source}: ${text.replaceAll(/\s*\n\s*/g, ' | ')}`);
  return `${clock} ${pino.levels.labels[level] ?? level} ${shown}\n`;
}

/** Characters in foreign text that a terminal would obey, or that would reorder its text. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** The text on one line, with escapes for all invisible characters. */
export function visible(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
