import { open } from 'node:fs/promises';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { readCaseSet } from '../cases/case-set.ts';
import { decisionLine } from '../decision-log.ts';
import { BadRequest, checkDepth, readBatch, readEvaluation } from '../requests.ts';

/** A request that was once made, or that somebody wrote down. */
export interface RecordedCall {
  /** Where it is: `line 7`, or the name of a case. */
  readonly name: string;
  readonly request: EvaluationRequest;
  /** Template of the verified approval that came with it. */
  readonly approvedFor?: string | undefined;
}

/** A place that has no request that could be read. */
export interface Unreadable {
  readonly name: string;
  readonly why: string;
}

/**
 * The requests in a decision log, or in a file of cases for `policy test`, one after the other however large the log is. Throws
 * `ERR_CONFIG_INVALID` when the file is neither.
 */
export async function* recordedCalls(file: string): AsyncGenerator<RecordedCall | Unreadable> {
  if (!(await isDecisionLog(file))) {
    yield* casesOf(file);
    return;
  }
  const handle = await openFile(file);
  let number = 0;
  try {
    for await (const line of handle.readLines()) {
      number += 1;
      if (line.trim() !== '') yield* readable(`line ${number}`, () => [fromLine(line)]);
    }
  } finally {
    await handle.close();
  }
}

/** Whether the first line is a decision. A file of cases has none that stands alone. */
async function isDecisionLog(file: string): Promise<boolean> {
  const handle = await openFile(file);
  try {
    for await (const line of handle.readLines()) {
      if (line.trim() !== '') return decisionLine.safeParse(parsed(line)).success;
    }
    return false;
  } finally {
    await handle.close();
  }
}

async function openFile(file: string) {
  return await open(file).catch((cause: unknown) => {
    const message = `${file} cannot be read. Name a decision log (pdp.decisionLog) or a file of cases.`;
    throw new CountersignError('ERR_CONFIG_INVALID', message, { cause });
  });
}

function fromLine(line: string): Omit<RecordedCall, 'name'> {
  const decision = decisionLine.safeParse(parsed(line));
  if (!decision.success) throw new BadRequest('it is no line of a decision log');
  return { request: requestFrom(decision.data.request), approvedFor: decision.data.approval?.template };
}

async function* casesOf(file: string): AsyncGenerator<RecordedCall | Unreadable> {
  const { cases } = await readCaseSet(file);
  for (const { name, request, approval } of cases) {
    const approvedFor = approval?.state === 'valid' ? approval.template : undefined;
    yield* readable(name, () => {
      const entries = readBatch(request)?.entries ?? [request];
      return entries.map((entry) => ({ request: requestFrom(entry), approvedFor }));
    });
  }
}

function* readable(name: string, read: () => Omit<RecordedCall, 'name'>[]): Generator<RecordedCall | Unreadable> {
  try {
    const calls = read();
    for (const [index, call] of calls.entries())
      yield { ...call, name: calls.length === 1 ? name : `${name}, entry ${index + 1}` };
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error;
    yield { name, why: error.message };
  }
}

function requestFrom(body: unknown): EvaluationRequest {
  checkDepth(body);
  return readEvaluation(body);
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
